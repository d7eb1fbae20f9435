import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPoint;
import java.security.spec.ECPublicKeySpec;
import java.security.spec.RSAPublicKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Verifies the token that says who asked, with the JDK only (17 or newer). */
public final class VerifyAsker {
  /**
   * What an agent verifies with. `issuer`: that of the zone's discovery document, character by character. `audience`: of this agent, and
   * of no other. `zones`: the values of client_id that may ask. `keys`: the keys of the zone's JWKS.
   */
  record Settings(String issuer, String audience, List<?> zones, long toleranceSeconds, List<?> keys) {}

  /** Its message says which check failed, and holds nothing of the token. */
  static final class Refused extends Exception {
    Refused(String reason) {
      super(reason);
    }
  }

  /** Without a digest a token is for reading the state of a task, as often as it lives. The first three are of the contract, the others of A2A. */
  static final Set<String> POLLS = Set.of("get_task", "cancel_task", "feedback", "GetTask", "CancelTask", "SubscribeToTask");
  static final List<String> TEXTS = List.of("slack_team", "slack_enterprise", "slack_user", "slack_channel", "slack_thread", "request_id", "email");

  private final Settings settings;
  /** The ids of used tokens, and when they may be forgotten. Several instances need a store that they share. */
  private final Map<String, Long> usedIds = new ConcurrentHashMap<>();

  VerifyAsker(Settings settings) {
    this.settings = settings;
  }

  /** Returns the claims. `sub` is the person, or equals `client_id` if no person asked. The body is that of the HTTP request, byte by byte. */
  Map<?, ?> verify(String token, byte[] body, long now) throws Refused, GeneralSecurityException {
    check(token.length() <= 8192 && token.matches("[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+"), "malformed");
    String[] parts = token.split("\\.");
    byte[] signature = decode(parts[2]);
    // Refuses another spelling of the same signature.
    check(Base64.getUrlEncoder().withoutPadding().encodeToString(signature).equals(parts[2]), "malformed");

    // The key and its algorithm are the zone's own: what a token brings is never used.
    Map<?, ?> header = Json.parseObject(decode(parts[0]), "malformed");
    Map<?, ?> key = findKey(header.get("kid"));
    check(key != null && key.get("alg").equals(header.get("alg")) && !header.containsKey("crit"), "header");
    check("at+jwt".equals(header.get("typ")) || "application/at+jwt".equals(header.get("typ")), "header");
    check(hasSigned(key, (parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII), signature), "signature");

    Map<?, ?> claims = Json.parseObject(decode(parts[1]), "malformed");
    check(settings.issuer().equals(claims.get("iss")) && settings.audience().equals(claims.get("aud")), "claims");
    String sub = text(claims, "sub"), client = text(claims, "client_id"), jti = text(claims, "jti");
    check(settings.zones().contains(client), "claims");
    // A person comes with the zone that speaks for it.
    check(sub.equals(client) || claims.get("act") instanceof Map<?, ?> act && client.equals(act.get("sub")), "claims");
    for (String name : TEXTS) check(!claims.containsKey(name) || claims.get(name) instanceof String, "claims");

    long iat = second(claims, "iat"), exp = second(claims, "exp"), nbf = claims.containsKey("nbf") ? second(claims, "nbf") : iat;
    long tolerance = settings.toleranceSeconds();
    check(exp > iat && exp - iat <= 300 && now < exp + tolerance && Math.max(iat, nbf) <= now + tolerance, "time");

    if (!claims.containsKey("body_sha256") && isPoll(body)) return claims;
    String digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(body));
    check(digest.equals(claims.get("body_sha256")), "body");
    usedIds.values().removeIf(until -> until <= now);
    check(usedIds.putIfAbsent(jti, exp + tolerance) == null, "replayed");
    return claims;
  }

  static void check(boolean holds, String reason) throws Refused {
    if (!holds) throw new Refused(reason);
  }

  static String text(Map<?, ?> claims, String name) throws Refused {
    if (claims.get(name) instanceof String text && !text.isEmpty()) return text;
    throw new Refused("claims");
  }

  /** A whole number, without fraction and exponent. */
  static long second(Map<?, ?> claims, String name) throws Refused {
    if (claims.get(name) instanceof Long second && second >= 0 && second < 1L << 53) return second;
    throw new Refused("claims");
  }

  static byte[] decode(String part) throws Refused {
    try {
      return Base64.getUrlDecoder().decode(part);
    } catch (IllegalArgumentException error) {
      throw new Refused("malformed");
    }
  }

  static boolean isPoll(byte[] body) {
    try {
      return Json.parseObject(body, "body").get("method") instanceof String method && POLLS.contains(method);
    } catch (Refused refused) {
      return false;
    }
  }

  private Map<?, ?> findKey(Object kid) {
    for (Object key : settings.keys()) if (key instanceof Map<?, ?> jwk && jwk.get("kid").equals(kid)) return jwk;
    return null;
  }

  static boolean hasSigned(Map<?, ?> jwk, byte[] input, byte[] signature) throws GeneralSecurityException {
    boolean isRsa = "RS256".equals(jwk.get("alg")) && "RSA".equals(jwk.get("kty"));
    if (!isRsa && !("ES256".equals(jwk.get("alg")) && "P-256".equals(jwk.get("crv")))) return false;
    // The signature of JOSE is r and s in 64 bytes, not the DER of certificates.
    Signature verifier = Signature.getInstance(isRsa ? "SHA256withRSA" : "SHA256withECDSAinP1363Format");
    verifier.initVerify(isRsa ? rsaKey(jwk) : ecKey(jwk));
    verifier.update(input);
    try {
      return verifier.verify(signature);
    } catch (java.security.SignatureException error) {
      return false; // It has another length, for example.
    }
  }

  static PublicKey rsaKey(Map<?, ?> jwk) throws GeneralSecurityException {
    return KeyFactory.getInstance("RSA").generatePublic(new RSAPublicKeySpec(integer(jwk, "n"), integer(jwk, "e")));
  }

  static PublicKey ecKey(Map<?, ?> jwk) throws GeneralSecurityException {
    AlgorithmParameters curve = AlgorithmParameters.getInstance("EC");
    curve.init(new ECGenParameterSpec("secp256r1"));
    ECPoint point = new ECPoint(integer(jwk, "x"), integer(jwk, "y"));
    return KeyFactory.getInstance("EC").generatePublic(new ECPublicKeySpec(point, curve.getParameterSpec(ECParameterSpec.class)));
  }

  static BigInteger integer(Map<?, ?> jwk, String name) {
    return new BigInteger(1, Base64.getUrlDecoder().decode((String) jwk.get(name)));
  }

  /**
   * Parses JSON, and refuses an object with a repeated key, because parsers differ on which of the two counts. If you have Jackson, use it
   * instead, with STRICT_DUPLICATE_DETECTION and FAIL_ON_TRAILING_TOKENS. Whole numbers are Long, others Double.
   */
  static final class Json {
    private final String json;
    private int at = 0;

    private Json(String json) {
      this.json = json;
    }

    static Map<?, ?> parseObject(byte[] bytes, String reason) throws Refused {
      try {
        Json reader = new Json(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
        Object value = reader.value(0);
        reader.skipSpace();
        if (value instanceof Map<?, ?> object && reader.at == reader.json.length()) return object;
      } catch (CharacterCodingException | IllegalArgumentException | IndexOutOfBoundsException error) {
        // It is not JSON.
      }
      throw new Refused(reason);
    }

    private Object value(int depth) {
      skipSpace();
      char first = json.charAt(at);
      if (depth > 100) throw new IllegalArgumentException();
      if (first == '"') return string();
      if (first == '{') return object(depth);
      if (first == '[') return list(depth);
      if (take("true")) return true;
      if (take("false")) return false;
      if (take("null")) return null;
      int start = at;
      while (at < json.length() && "+-.eE0123456789".indexOf(json.charAt(at)) >= 0) at++;
      String number = json.substring(start, at);
      if (!number.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")) throw new IllegalArgumentException();
      if (number.matches("-?[0-9]{1,18}")) return Long.valueOf(number);
      return Double.valueOf(number);
    }

    private Map<String, Object> object(int depth) {
      Map<String, Object> object = new LinkedHashMap<>();
      expect("{");
      if (take("}")) return object;
      do {
        skipSpace();
        String key = string();
        expect(":");
        if (object.containsKey(key)) throw new IllegalArgumentException();
        object.put(key, value(depth + 1));
      } while (take(","));
      expect("}");
      return object;
    }

    private List<Object> list(int depth) {
      List<Object> list = new ArrayList<>();
      expect("[");
      if (take("]")) return list;
      do list.add(value(depth + 1));
      while (take(","));
      expect("]");
      return list;
    }

    private String string() {
      if (json.charAt(at++) != '"') throw new IllegalArgumentException();
      StringBuilder text = new StringBuilder();
      for (char unit = json.charAt(at++); unit != '"'; unit = json.charAt(at++)) {
        if (unit < ' ') throw new IllegalArgumentException();
        text.append(unit == '\\' ? escaped() : unit);
      }
      return text.toString();
    }

    private char escaped() {
      char escape = json.charAt(at++);
      if (escape == 'u') return (char) HexFormat.fromHexDigits(json, at, at += 4);
      int index = "\"\\/bfnrt".indexOf(escape);
      if (index < 0) throw new IllegalArgumentException();
      return "\"\\/\b\f\n\r\t".charAt(index);
    }

    private void skipSpace() {
      while (at < json.length() && " \t\r\n".indexOf(json.charAt(at)) >= 0) at++;
    }

    /** Skips the text, if it comes next, with the white space before it. */
    private boolean take(String text) {
      skipSpace();
      boolean isNext = json.startsWith(text, at);
      if (isNext) at += text.length();
      return isNext;
    }

    private void expect(String text) {
      if (!take(text)) throw new IllegalArgumentException();
    }
  }

  /** Runs the verifier over a file of test vectors: java VerifyAsker.java vectors.json */
  public static void main(String[] args) throws Exception {
    Map<?, ?> file = Json.parseObject(Files.readAllBytes(Path.of(args[0])), "The file is not JSON");
    Map<?, ?> fields = (Map<?, ?>) file.get("settings");
    List<?> keys = (List<?>) ((Map<?, ?>) fields.get("jwks")).get("keys");
    Settings settings = new Settings((String) fields.get("issuer"), (String) fields.get("audience"),
        (List<?>) fields.get("zones"), (Long) fields.get("tolerance_seconds"), keys);
    int wrong = 0;
    List<?> vectors = (List<?>) file.get("vectors");
    for (Object one : vectors) {
      Map<?, ?> vector = (Map<?, ?>) one;
      VerifyAsker verifier = new VerifyAsker(settings);
      if (vector.get("first") instanceof Map<?, ?> first) verdict(verifier, first);
      String given = verdict(verifier, vector);
      boolean isExpected = given.equals(vector.get("expected"));
      if (!isExpected) wrong++;
      System.out.println((isExpected ? "ok " : "WRONG ") + given + ": " + vector.get("name"));
    }
    System.out.println(vectors.size() + " vectors, " + wrong + " wrong");
    if (wrong > 0) System.exit(1);
  }

  private static String verdict(VerifyAsker verifier, Map<?, ?> request) {
    try {
      byte[] body = Base64.getDecoder().decode((String) request.get("body"));
      verifier.verify((String) request.get("token"), body, (Long) request.get("now"));
      return "valid";
    } catch (Refused refused) {
      return refused.getMessage();
    } catch (Exception error) {
      return "an error: " + error;
    }
  }
}
