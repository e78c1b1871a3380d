package org.ballast.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a test of an application that uses Kafka looks like. */
class OrdersTest {
    private static final String TOPIC = "orders";

    @RegisterExtension
    final Ballast broker = new Ballast();

    private KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", broker.bootstrap(), "retry.backoff.ms", 10));
        settings.putAll(more);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static void send(KafkaProducer<String, String> producer, String value) throws Exception {
        producer.send(new ProducerRecord<>(TOPIC, value)).get();
    }

    private List<String> read(int count) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", broker.bootstrap(), "group.id", "readers", "auto.offset.reset", "earliest");
        List<String> values = new ArrayList<>();
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(TOPIC));
            for (int polls = 0; values.size() < count && polls < 200; polls++) {
                consumer.poll(Duration.ofMillis(100)).forEach(record -> values.add(record.value()));
            }
        }
        return values;
    }

    @Test
    void whatIsSentIsRead() throws Exception {
        try (var producer = producer(Map.of())) {
            send(producer, "tea");
            send(producer, "coffee");
        }
        assertEquals(List.of("tea", "coffee"), read(2));
    }

    @Test
    void aProducerTriesAgainWhenTheLeaderHasMoved() throws Exception {
        try (var producer = producer(Map.of())) {
            send(producer, "first");
            long fault = broker.fault("""
                {"fault": "fail_next", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "times": 2, "topic": "orders"}""");
            broker.record();
            send(producer, "second");
            assertEquals(2, broker.fired(fault));
            assertEquals(3, broker.requests("Produce").split("\"orders\"").length - 1, "two refused, one served");
        }
        assertEquals(List.of("first", "second"), read(2));
    }

    @Test
    void anIdempotentProducerWritesOnceThoughTheAnswerWasLost() throws Exception {
        try (var producer = producer(Map.of("enable.idempotence", true))) {
            send(producer, "first");
            long fault = broker.fault("{\"fault\": \"lose_answer\", \"api\": \"Produce\"}");
            send(producer, "second");
            assertEquals(1, broker.fired(fault));
        }
        assertEquals(List.of("first", "second"), read(2));
    }

    @Test
    void aFullDiskReachesTheApplication() throws Exception {
        Map<String, Object> impatient = Map.of("delivery.timeout.ms", 600, "request.timeout.ms", 300, "linger.ms", 0);
        try (var producer = producer(impatient)) {
            send(producer, "first");
            broker.fault("{\"fault\": \"disk_full\"}");
            var failure = assertThrows(ExecutionException.class, () -> send(producer, "second"));
            assertInstanceOf(TimeoutException.class, failure.getCause());
            broker.clearFaults();
            send(producer, "third");
        }
    }
}
