import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What an application does with a broker: java -cp JARS Client.java ADDRESS. */
public class Client {
    static final String TOPIC = "java";
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    static final int RECORDS = 300; // for each codec
    static final int COMMITTED = 20; // in a transaction
    static final int LARGE = 900_000; // bytes; spans many packets

    static String address;

    public static void main(String[] args) throws Exception {
        address = args[0];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address, "client.id", "java-admin"))) {
            admin.createTopics(List.of(new NewTopic(TOPIC, 3, (short) 1))).all().get();
            for (String codec : CODECS) {
                produce(codec);
            }
            transactions();
            consume("classic");
            consume("consumer");
            look(admin);
            admin.deleteTopics(List.of(TOPIC)).all().get();
        }
    }

    static void produce(String codec) {
        try (Producer<byte[], byte[]> producer = producer(Map.of("client.id", "java-" + codec, "compression.type", codec, "linger.ms", 5))) {
            for (int i = 0; i < RECORDS; i++) {
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(TOPIC, ("key " + i).getBytes(), ("value ".repeat(i) + i).getBytes());
                record.headers().add("codec", codec.getBytes());
                producer.send(record);
            }
            byte[] large = new byte[LARGE];
            ThreadLocalRandom.current().nextBytes(large);
            producer.send(new ProducerRecord<>(TOPIC, large));
        }
    }

    static void transactions() {
        try (Producer<byte[], byte[]> producer = producer(Map.of("client.id", "java-transactions", "transactional.id", "java"))) {
            producer.initTransactions();
            for (boolean commit : new boolean[] {true, false}) {
                producer.beginTransaction();
                for (int i = 0; i < COMMITTED; i++) {
                    producer.send(new ProducerRecord<>(TOPIC, ("transaction " + i).getBytes()));
                }
                if (commit) {
                    producer.commitTransaction();
                } else {
                    producer.flush();
                    producer.abortTransaction();
                }
            }
        }
    }

    static Producer<byte[], byte[]> producer(Map<String, Object> config) {
        Map<String, Object> all = new HashMap<>(config);
        all.put("bootstrap.servers", address);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static void consume(String protocol) {
        Map<String, Object> config = Map.of("bootstrap.servers", address, "client.id", "java-" + protocol, "group.id", protocol, "group.protocol", protocol,
            "auto.offset.reset", "earliest", "enable.auto.commit", false, "isolation.level", "read_committed");
        int want = CODECS.size() * (RECORDS + 1) + COMMITTED;
        try (Consumer<byte[], byte[]> consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(TOPIC));
            long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
            int read = 0;
            while (read < want) {
                if (System.nanoTime() > end) {
                    throw new IllegalStateException(read + " records, want " + want);
                }
                read += consumer.poll(Duration.ofMillis(100)).count();
                consumer.commitSync();
            }
        }
    }

    static void look(Admin admin) throws Exception {
        admin.describeCluster().nodes().get();
        admin.describeTopics(List.of(TOPIC)).allTopicNames().get();
        admin.describeConfigs(List.of(new ConfigResource(ConfigResource.Type.TOPIC, TOPIC))).all().get();
        admin.listOffsets(Map.of(new TopicPartition(TOPIC, 0), OffsetSpec.earliest(), new TopicPartition(TOPIC, 1), OffsetSpec.latest())).all().get();
        admin.listGroups().all().get();
        admin.listConsumerGroupOffsets("classic").partitionsToOffsetAndMetadata().get();
        admin.describeConsumerGroups(List.of("consumer")).all().get();
    }
}
