// Apache Kafka's Admin client and the log directories of three brokers: every replica of a topic goes to the other directory
// of its broker. Arguments: HOST:PORT,… TOPIC.
//
// `moved REPLICA FROM TO` for each replica once it is there, `refused CLASS` for what cannot be; a move that does not end fails.

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeReplicaLogDirsResult.ReplicaLogDirInfo;
import org.apache.kafka.common.TopicPartitionReplica;

final class MoveReplicas {
    private static final int TRIES_MAX = 600;

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            var described = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            List<TopicPartitionReplica> replicas = new ArrayList<>();
            for (var partition : described.partitions())
                for (var node : partition.replicas())
                    replicas.add(new TopicPartitionReplica(topic, partition.partition(), node.id()));
            for (var replica : replicas) {
                var all = admin.describeLogDirs(List.of(replica.brokerId())).allDescriptions().get();
                String from = where(admin, replica).getCurrentReplicaLogDir();
                var others = all.get(replica.brokerId()).keySet().stream().filter(dir -> !dir.equals(from)).toList();
                String to = others.get(0);
                admin.alterReplicaLogDirs(Map.of(replica, to)).all().get();
                await(admin, replica, to);
                System.out.println("moved " + replica + " " + from + " " + to);
            }
            refuse(admin, replicas.get(0), "/nowhere");
            String there = where(admin, replicas.get(0)).getCurrentReplicaLogDir();
            refuse(admin, new TopicPartitionReplica(topic + "-absent", 0, 1), there);
        }
    }

    private static ReplicaLogDirInfo where(Admin admin, TopicPartitionReplica replica) throws Exception {
        return admin.describeReplicaLogDirs(List.of(replica)).all().get().get(replica);
    }

    private static void await(Admin admin, TopicPartitionReplica replica, String to) throws Exception {
        for (int tries = 0; tries < TRIES_MAX; tries++) {
            ReplicaLogDirInfo place = where(admin, replica);
            if (to.equals(place.getCurrentReplicaLogDir()) && place.getFutureReplicaLogDir() == null) return;
            Thread.sleep(100);
        }
        throw new AssertionError(replica + " is still at " + where(admin, replica));
    }

    private static void refuse(Admin admin, TopicPartitionReplica replica, String to) throws Exception {
        try {
            admin.alterReplicaLogDirs(Map.of(replica, to)).all().get();
            throw new AssertionError(replica + " was moved to " + to);
        } catch (ExecutionException refusal) {
            System.out.println("refused " + refusal.getCause().getClass().getSimpleName());
        }
    }
}
