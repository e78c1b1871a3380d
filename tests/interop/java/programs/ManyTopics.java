// Apache Kafka's Admin client and many topics: they are created, described and deleted. Arguments: HOST:PORT,… PREFIX TOPICS
// PARTITIONS REPLICAS.
//
// `created MS`, `described MS`, `deleted MS`; each after it is true of all of them on every broker that is asked.

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;

final class ManyTopics {
    /** Topics of one request. */
    private static final int AT_ONCE = 20;
    private static final int TRIES_MAX = 600;

    private interface Body {
        void run() throws Exception;
    }

    private static void timed(String what, Body body) throws Exception {
        long start = System.nanoTime();
        body.run();
        System.out.println(what + " " + (System.nanoTime() - start) / 1_000_000);
    }

    public static void main(String[] arguments) throws Exception {
        String prefix = arguments[1];
        int partitions = Integer.parseInt(arguments[3]);
        short replicas = Short.parseShort(arguments[4]);
        List<String> names = IntStream.range(0, Integer.parseInt(arguments[2])).mapToObj(i -> prefix + i).toList();
        // Each topic costs syncs, and a busy disk has its own idea of time.
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0], "request.timeout.ms", 120_000,
            "default.api.timeout.ms", 600_000);
        try (Admin admin = Admin.create(settings)) {
            timed("created", () -> {
                for (int from = 0; from < names.size(); from += AT_ONCE) {
                    var some = names.subList(from, Math.min(from + AT_ONCE, names.size())).stream();
                    admin.createTopics(some.map(name -> new NewTopic(name, partitions, replicas)).toList()).all().get();
                }
            });
            timed("led", () -> until(
                () -> described(admin, names).stream().allMatch(topic -> isWhole(topic, partitions, replicas))));
            timed("described", () -> described(admin, names));
            timed("listed", () -> {
                if (!admin.listTopics().names().get().containsAll(names)) throw new AssertionError("not all are listed");
            });
            timed("deleted", () -> {
                for (int from = 0; from < names.size(); from += AT_ONCE)
                    admin.deleteTopics(names.subList(from, Math.min(from + AT_ONCE, names.size()))).all().get();
                until(() -> admin.listTopics().names().get().stream().noneMatch(name -> name.startsWith(prefix)));
            });
        }
    }

    private static Collection<TopicDescription> described(Admin admin, List<String> names) throws Exception {
        return admin.describeTopics(names).allTopicNames().get().values();
    }

    private static boolean isWhole(TopicDescription topic, int partitions, int replicas) {
        return topic.partitions().size() == partitions && topic.partitions().stream().allMatch(
            partition -> partition.leader() != null && partition.isr().size() == replicas);
    }

    private interface Question {
        boolean ask() throws Exception;
    }

    private static void until(Question question) throws Exception {
        for (int tries = 0; !question.ask(); tries++) {
            if (tries == TRIES_MAX) throw new AssertionError("still not");
            Thread.sleep(50);
        }
    }
}
