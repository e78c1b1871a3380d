// kafka-clients, Apache Kafka's own: the scenario of ../../README.md.

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.internals.AppInfoParser;

final class Scenario {
    private final String bootstrap;
    private final String topic;
    private final String group;
    private final short replicas;
    private final Admin admin;
    private final ConfigResource resource;
    private final List<TopicPartition> places;

    private Scenario(String bootstrap, String topic, short replicas) {
        this.bootstrap = bootstrap;
        this.topic = topic;
        this.replicas = replicas;
        this.group = topic + "-group";
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        this.resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        this.places = IntStream.range(0, Steps.PARTITIONS).mapToObj(p -> new TopicPartition(topic, p)).toList();
    }

    public static void main(String[] arguments) throws Exception {
        Steps.say("version " + AppInfoParser.getVersion());
        Steps.bounces = Short.parseShort(arguments[2]) > 1;
        Scenario scenario = new Scenario(arguments[0], arguments[1], Short.parseShort(arguments[2]));
        scenario.administer();
        scenario.write();
        scenario.share();
        scenario.refuse();
        System.exit(0);
    }

    private KafkaProducer<String, String> producer(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "linger.ms", 5));
        all.putAll(settings);
        return new KafkaProducer<>(all, new StringSerializer(), new StringSerializer());
    }

    private KafkaConsumer<String, String> consumer(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", group,
            "enable.auto.commit", false, "auto.offset.reset", "earliest", "session.timeout.ms", Steps.bounces ? 6_000 : 10_000,
            "heartbeat.interval.ms", 500, "max.poll.interval.ms", Steps.bounces ? 120_000 : 15_000, "check.crcs", true));
        all.putAll(settings);
        return new KafkaConsumer<>(all, new StringDeserializer(), new StringDeserializer());
    }

    private void send(KafkaProducer<String, String> producer, List<Steps.Pair> records) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (Steps.Pair record : records)
            sent.add(producer.send(new ProducerRecord<>(topic, record.key(), record.value())));
        producer.flush();
        for (Future<RecordMetadata> future : sent) future.get();
    }

    private void sendValues(KafkaProducer<String, String> producer, List<String> values) throws Exception {
        send(producer, values.stream().map(value -> new Steps.Pair(null, value)).toList());
    }

    private static boolean poll(KafkaConsumer<String, String> consumer, Collection<String> values) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) values.add(record.value());
        return true;
    }

    private String config(String name) throws Exception {
        return Steps.insist(() -> admin.describeConfigs(List.of(resource)).all().get()).get(resource).get(name).value();
    }

    private void administer() {
        Steps.step("create", () -> {
            var settings = Map.of("retention.ms", Steps.RETENTION_MS);
            var wanted = List.of(new NewTopic(topic, Steps.PARTITIONS, replicas).configs(settings));
            Steps.insist(TopicExistsException.class, () -> admin.createTopics(wanted).all().get());
            return "again: " + Steps.refused(TopicExistsException.class, () -> admin.createTopics(wanted).all().get());
        });
        Steps.step("describe", () -> {
            var described = Steps.insist(() -> admin.describeTopics(List.of(topic)).allTopicNames().get());
            var partitions = described.get(topic).partitions();
            Steps.equal(partitions.size(), Steps.PARTITIONS);
            Steps.check(partitions.stream().allMatch(partition -> partition.leader() != null), partitions);
            Steps.settles("retention.ms", () -> config("retention.ms"), Steps.RETENTION_MS);
            return "";
        });
        Steps.step("alter-config", () -> {
            String limit = String.valueOf(Steps.MESSAGE_BYTES_MAX);
            var change = new AlterConfigOp(new ConfigEntry("max.message.bytes", limit), AlterConfigOp.OpType.SET);
            Steps.insist(() -> admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get());
            Steps.settles("max.message.bytes", () -> config("max.message.bytes"), limit);
            return "";
        });
    }

    private void write() {
        Steps.step("produce", () -> {
            for (String codec : Steps.CODECS)
                try (var producer = producer(Map.of("compression.type", codec))) {
                    send(producer, Steps.records(codec));
                }
            return String.join(" ", Steps.CODECS);
        });
        Steps.step("assign", () -> {
            try (var reader = consumer(Map.of())) {
                List<String> values = new ArrayList<>();
                reader.assign(places);
                reader.seekToBeginning(places);
                Steps.until("all records", () -> poll(reader, values) && values.containsAll(Steps.allValues()));
                Steps.equal(values.stream().sorted().toList(), Steps.allValues());
                return values.size() + " records";
            }
        });
    }

    /** Does what a member can do while it is one: a poll makes it one again. */
    private static void commit(KafkaConsumer<String, String> member, Collection<String> values, Runnable action)
        throws Exception {
        Steps.insist(() -> {
            poll(member, values);
            action.run();
            return null;
        });
    }

    /** The second member, on a thread of its own: a consumer belongs to one thread. */
    private final class Second extends Thread {
        final KafkaConsumer<String, String> member = consumer(Map.of());
        final Set<String> values = ConcurrentHashMap.newKeySet();
        final CountDownLatch leave = new CountDownLatch(1);
        volatile int held;

        @Override
        public void run() {
            member.subscribe(List.of(topic));
            while (leave.getCount() > 0) {
                poll(member, values);
                held = member.assignment().size();
            }
            member.close();
        }
    }

    private void share() {
        var first = consumer(Map.of());
        var second = new Second();
        Set<String> seen = new HashSet<>();
        Steps.step("group", () -> {
            first.subscribe(List.of(topic));
            second.start();
            Steps.until("two members share the partitions and see all records", () -> {
                poll(first, seen);
                seen.addAll(second.values);
                int held = first.assignment().size();
                boolean shared = held > 0 && second.held > 0 && held + second.held == Steps.PARTITIONS;
                return shared && seen.containsAll(Steps.allValues());
            });
            return "";
        });
        Steps.step("rebalance", () -> {
            second.leave.countDown();
            Steps.until("one member holds everything",
                () -> poll(first, seen) && first.assignment().size() == Steps.PARTITIONS);
            return "";
        });
        Steps.step("commit", () -> {
            Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
            var found = Steps.insist(() -> first.endOffsets(places));
            found.forEach((place, end) -> ends.put(place, new OffsetAndMetadata(end)));
            commit(first, seen, () -> first.commitSync(ends));
            Steps.insist(() -> first.committed(Set.copyOf(places)))
                .forEach((place, at) -> Steps.equal(at.offset(), ends.get(place).offset()));
            commit(first, seen, () -> ends.forEach(first::seek));
            return "";
        });
        Steps.step("restart", () -> {
            try (var producer = producer(Map.of())) {
                List<String> values = new ArrayList<>();
                sendValues(producer, List.of("before"));
                Steps.until("the record before", () -> poll(first, values) && values.contains("before"));
                // The ends: a member that has just come back stands where it had committed before.
                Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
                Steps.insist(() -> first.endOffsets(places))
                    .forEach((place, end) -> ends.put(place, new OffsetAndMetadata(end)));
                commit(first, values, () -> first.commitSync(ends));
                Steps.equal(Steps.once(values), List.of("before"));
                Steps.restart();
                sendValues(producer, Steps.AFTER);
                values.clear();
                Steps.until("the records after", () -> poll(first, values) && values.containsAll(Steps.AFTER));
                Steps.equal(Steps.once(values), Steps.AFTER);
            }
            first.close();
            return "";
        });
        Steps.step("resume", () -> {
            try (var again = consumer(Map.of())) {
                List<String> values = new ArrayList<>();
                again.subscribe(List.of(topic));
                Steps.until("the records after the commit",
                    () -> poll(again, values) && values.containsAll(Steps.AFTER));
                Steps.equal(Steps.once(values), Steps.AFTER);
            }
            return "";
        });
    }

    private void refuse() {
        Steps.step("unknown-topic", () -> Steps.refused(UnknownTopicOrPartitionException.class,
            () -> admin.describeTopics(List.of(topic + "-missing")).allTopicNames().get()));
        Steps.step("too-large", () -> {
            try (var producer = producer(Map.of())) {
                return Steps.refused(RecordTooLargeException.class, () -> {
                    sendValues(producer, List.of("x".repeat(5 * Steps.MESSAGE_BYTES_MAX)));
                    return null;
                });
            }
        });
        Steps.step("out-of-range", () -> {
            try (var reader = consumer(Map.of("auto.offset.reset", "none"))) {
                reader.assign(places.subList(0, 1));
                reader.seek(places.get(0), 1_000_000);
                return Steps.refused(OffsetOutOfRangeException.class, () -> {
                    Steps.until("the refusal", () -> !poll(reader, new ArrayList<>()));
                    return null;
                });
            }
        });
        Steps.step("delete", () -> {
            Steps.insist(UnknownTopicOrPartitionException.class, () -> admin.deleteTopics(List.of(topic)).all().get());
            Steps.insist(GroupIdNotFoundException.class,
                () -> admin.deleteConsumerGroups(List.of(group)).all().get());
            return "again: " + Steps.refused(UnknownTopicOrPartitionException.class,
                () -> admin.deleteTopics(List.of(topic)).all().get());
        });
    }
}
