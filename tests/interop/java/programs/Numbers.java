// Apache Kafka's own clients under brokers that fail: a producer writes numbers with idempotence and acks=all, each number
// once and to the partition that it names itself, and a member of a group reads them. Arguments: HOST:PORT,… TOPIC PARTITIONS.
//
// Every line is a fact: `acked VALUE PARTITION OFFSET`, `read VALUE PARTITION OFFSET`, `failed REASON`. It writes until its
// standard input ends, reads what it has written to the end, and ends.

import java.io.BufferedOutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

final class Numbers {
    private static final int IN_FLIGHT_MAX = 500;
    private static final int BETWEEN_PAUSES = 20;
    private static final PrintStream OUT = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false);
    private static final AtomicBoolean stop = new AtomicBoolean();
    /** How many numbers there are in the end; none knows before. */
    private static final AtomicLong count = new AtomicLong(Long.MAX_VALUE);

    private static synchronized void say(String fact, Object value, int partition, long offset) {
        OUT.println(fact + " " + value + " " + partition + " " + offset);
        OUT.flush();
    }

    private static void fail(Throwable error) {
        OUT.println("failed " + error.toString().replace('\n', ' '));
        OUT.flush();
        Runtime.getRuntime().halt(1);
    }

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        String topic = arguments[1];
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> fail(error));
        Thread reader = new Thread(() -> read(bootstrap, topic));
        Thread ending = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {}
            } catch (java.io.IOException gone) {
                // The end of the input as well.
            }
            stop.set(true);
        });
        ending.setDaemon(true);
        ending.start();
        reader.start();
        count.set(write(bootstrap, topic, Integer.parseInt(arguments[2])));
        reader.join();
    }

    private static long write(String bootstrap, String topic, int partitions) throws Exception {
        // A broker that was cut off must not be waited for as long as one that is slow. With several requests in flight this
        // producer sends later batches to a new leader while the old one still owes it answers; if what it owes was replicated,
        // the new leader has taken more than five batches by the time it is sent again, and cannot tell it for a resend (45,
        // until the delivery times out, with Apache Kafka too).
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "enable.idempotence", true, "acks", "all",
            "linger.ms", 1,
            "max.in.flight.requests.per.connection", 1, "delivery.timeout.ms", 120_000, "request.timeout.ms", 5_000, "retry.backoff.ms", 20,
            "reconnect.backoff.ms", 10, "reconnect.backoff.max.ms", 50);
        Semaphore room = new Semaphore(IN_FLIGHT_MAX);
        long value = 0;
        try (var producer = new KafkaProducer<>(settings, new LongSerializer(), new StringSerializer())) {
            for (; !stop.get(); value++) {
                long written = value;
                room.acquire();
                var record = new ProducerRecord<Long, String>(topic, (int) (value % partitions), null, Long.toString(value));
                producer.send(record, (place, error) -> {
                    if (error != null) fail(error);
                    say("acked", written, place.partition(), place.offset());
                    room.release();
                });
                if (value % BETWEEN_PAUSES == 0) Thread.sleep(1);
            }
        }
        return value;
    }

    private static void read(String bootstrap, String topic) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "group.id", topic + "-java",
            "auto.offset.reset", "earliest", "session.timeout.ms", 10_000, "auto.commit.interval.ms", 200,
            "request.timeout.ms", 5_000, "reconnect.backoff.max.ms", 50, "check.crcs", true);
        BitSet seen = new BitSet();
        try (var reader = new KafkaConsumer<>(settings, new LongDeserializer(), new StringDeserializer())) {
            reader.subscribe(List.of(topic));
            while (seen.cardinality() < count.get())
                for (ConsumerRecord<Long, String> record : reader.poll(Duration.ofMillis(100))) {
                    seen.set(Integer.parseInt(record.value()));
                    say("read", record.value(), record.partition(), record.offset());
                }
        }
    }
}
