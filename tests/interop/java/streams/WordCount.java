// Kafka Streams, at least once: counts words, with a state store and the topics that come with it, across a restart of
// the broker and of the application. Arguments: HOST:PORT,… NAME REPLICAS (../../README.md).

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.internals.AppInfoParser;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Produced;

final class WordCount {
    private static final Duration PATIENCE = Duration.ofSeconds(120);
    private final String bootstrap;
    private final String name;
    private final short replicas;
    private final Map<String, Long> counts = new HashMap<>();

    private WordCount(String bootstrap, String name, short replicas) {
        this.bootstrap = bootstrap;
        this.name = name;
        this.replicas = replicas;
    }

    public static void main(String[] arguments) throws Exception {
        say("version " + AppInfoParser.getVersion());
        new WordCount(arguments[0], arguments[1], Short.parseShort(arguments[2])).run();
        System.exit(0);
    }

    private static void say(String line) {
        System.out.println(line.replace('\n', ' ').strip());
        System.out.flush();
    }

    private static void step(String name, Callable<String> body) {
        try {
            say("step " + name + " ok " + body.call());
        } catch (Throwable failure) {
            say("step " + name + " fail " + failure);
        }
    }

    private Topology topology() {
        var builder = new StreamsBuilder();
        builder.<String, String>stream(name + "-lines")
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            // Another key: what follows goes through a topic of its own.
            .groupBy((key, word) -> word)
            .count()
            .toStream()
            .to(name + "-counts", Produced.with(Serdes.String(), Serdes.Long()));
        return builder.build();
    }

    private KafkaStreams streams(String state) {
        var settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, state);
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, (int) replicas);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        settings.put("consumer.session.timeout.ms", replicas > 1 ? 6_000 : 10_000);
        settings.put("consumer.auto.offset.reset", "earliest");
        var streams = new KafkaStreams(topology(), settings);
        streams.start();
        return streams;
    }

    private void run() throws Exception {
        var settings = Map.<String, Object>of(
            "bootstrap.servers", bootstrap, "group.id", name + "-reader", "auto.offset.reset", "earliest");
        try (var admin = Admin.create(settings);
             var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
             var reader = new KafkaConsumer<>(settings, new StringDeserializer(), new LongDeserializer())) {
            var topics = Stream.of("-lines", "-counts").map(end -> new NewTopic(name + end, 2, replicas)).toList();
            admin.createTopics(topics).all().get();
            reader.subscribe(List.of(name + "-counts"));
            String state = Files.createTempDirectory("streams").toString();
            KafkaStreams[] streams = {streams(state)};
            step("count", () -> {
                write(producer, "tea coffee tea", "cake tea");
                return await(reader, Map.of("tea", 3L, "coffee", 1L, "cake", 1L));
            });
            step("restart", () -> {
                say("restart please");
                var answer = new BufferedReader(new InputStreamReader(System.in)).readLine();
                if (!"restarted".equals(answer)) throw new AssertionError("asked for a restart, was told " + answer);
                write(producer, "coffee coffee");
                return await(reader, Map.of("tea", 3L, "coffee", 3L, "cake", 1L));
            });
            // With an empty state folder: the store comes back from its changelog topic.
            step("resume", () -> {
                streams[0].close(Duration.ofSeconds(20));
                streams[0] = streams(Files.createTempDirectory("streams").toString());
                write(producer, "cake tea");
                return await(reader, Map.of("tea", 4L, "coffee", 3L, "cake", 2L));
            });
            streams[0].close(Duration.ofSeconds(20));
        }
    }

    private void write(KafkaProducer<String, String> producer, String... lines) throws Exception {
        for (String line : lines) producer.send(new ProducerRecord<>(name + "-lines", line, line)).get();
    }

    private String await(KafkaConsumer<String, Long> reader, Map<String, Long> wanted) {
        // At least once: a task that starts anew while brokers come and go counts some words again.
        BooleanSupplier counted = () -> replicas == 1
            ? counts.equals(wanted)
            : counts.keySet().equals(wanted.keySet())
                && wanted.keySet().stream().allMatch(word -> counts.get(word) >= wanted.get(word));
        for (long end = System.nanoTime() + PATIENCE.toNanos(); !counted.getAsBoolean(); ) {
            if (System.nanoTime() > end) throw new AssertionError("counted " + counts + ", wanted " + wanted);
            for (var record : reader.poll(Duration.ofMillis(200))) counts.put(record.key(), record.value());
        }
        return counts.toString();
    }
}
