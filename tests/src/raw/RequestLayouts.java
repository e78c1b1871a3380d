// Prints the layout of every request of Apache Kafka's published client library, one line for each key and version.
//
//   java -cp "$(kafka classpath)" RequestLayouts.java > request_layouts.txt
//
// layout.rs explains the notation. Only what a broker listener may be asked is printed.
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.types.*;

class RequestLayouts {
    static final Map<String, String> LETTERS = Map.ofEntries(
        Map.entry("BOOLEAN", "b"), Map.entry("INT8", "1"), Map.entry("INT16", "2"), Map.entry("UINT16", "2"),
        Map.entry("INT32", "4"), Map.entry("UINT32", "4"), Map.entry("INT64", "8"), Map.entry("FLOAT64", "8"),
        Map.entry("UUID", "u"), Map.entry("STRING", "s"), Map.entry("NULLABLE_STRING", "s"),
        Map.entry("COMPACT_STRING", "s"), Map.entry("COMPACT_NULLABLE_STRING", "s"), Map.entry("BYTES", "y"),
        Map.entry("NULLABLE_BYTES", "y"), Map.entry("COMPACT_BYTES", "y"), Map.entry("COMPACT_NULLABLE_BYTES", "y"),
        Map.entry("RECORDS", "y"), Map.entry("NULLABLE_RECORDS", "y"), Map.entry("COMPACT_RECORDS", "y"),
        Map.entry("COMPACT_NULLABLE_RECORDS", "y"));

    static String layout(Type type) {
        if (type instanceof Schema schema) {
            StringBuilder fields = new StringBuilder();
            for (BoundField field : schema.fields()) fields.append(layout(field.def.type));
            String nullable = type.isNullable() ? "?" : "";
            return nullable + "(" + fields + ")";
        }
        if (type instanceof TaggedFields tagged) {
            StringBuilder tags = new StringBuilder("{");
            for (Map.Entry<Integer, Field> tag : new TreeMap<>(tagged.fields()).entrySet())
                tags.append(tag.getKey()).append(':').append(layout(tag.getValue().type));
            return tags.append('}').toString();
        }
        if (type.isArray()) return "[" + layout(type.arrayElementType().get()) + "]";
        String letter = LETTERS.get(((Type.DocumentedType) type).typeName());
        if (letter == null) throw new IllegalStateException("no letter for " + ((Type.DocumentedType) type).typeName());
        return letter;
    }

    public static void main(String[] arguments) {
        for (ApiMessageType api : ApiMessageType.values()) {
            if (!api.listeners().contains(ApiMessageType.ListenerType.BROKER)) continue;
            Schema[] schemas = api.requestSchemas();
            for (int version = api.lowestSupportedVersion(); version <= api.highestSupportedVersion(false); version++) {
                String form = api.requestHeaderVersion((short) version) >= 2 ? "flexible" : "plain";
                System.out.println(api.apiKey() + " " + version + " " + form + " " + layout(schemas[version]));
            }
        }
    }
}
