/** The test vectors of the token that says who asked: each has one defect, or none. */
import { constants, createHash, createPrivateKey, sign } from "node:crypto";
import {
  groupOrder,
  type KeyName,
  negateS,
  publicJwk,
  signEs256,
  signHs256WithPublicKey,
  signRs256,
  toBytes,
  toDer,
} from "./sign.ts";
import testKeys from "./test-keys.json" with { type: "json" };

/** Why a verifier refuses. The first check that fails gives the reason, in this order. */
export type Refusal =
  | "malformed"
  | "header"
  | "signature"
  | "claims"
  | "time"
  | "body"
  | "replayed";

export type Vector = {
  name: string;
  expected: "valid" | Refusal;
  /** Seconds since 1970, which is the clock of the verifier. */
  now: number;
  token: string;
  /** The body of the HTTP request in Base64. */
  body: string;
  /** A request that the same verifier gets before, whatever it says to it. */
  first?: { now: number; token: string; body: string };
};

export type VectorFile = {
  about: string;
  settings: {
    issuer: string;
    audience: string;
    zones: string[];
    tolerance_seconds: number;
    jwks: { keys: Record<string, string>[] };
  };
  vectors: Vector[];
};

type Fields = Record<string, unknown>;
/** The defect of a vector. A field that is undefined is left out. */
type Defect = {
  key?: KeyName;
  header?: Fields;
  claims?: Fields;
  headerText?: string;
  claimsText?: string | ((text: string) => string);
  signature?: (input: string, signature: Buffer) => Buffer;
  /** Changes the finished token. */
  edit?: (token: string) => string;
  /** The body that the zone signs. */
  signedBody?: string | Buffer;
  /** The body that arrives, if it is another. */
  body?: string | Buffer;
  now?: number;
  first?: Vector["first"];
};

const now = 1_800_000_000;
const issuer = "https://asker.example.com";
const audience = "https://agents.example.com/";
const zone = "arn:aws:iam::123456789012:role/sekisho-test-verification";
const tolerance_seconds = 30;
const request_id = "5b0c1d8e-2f3a-4b5c-8d6e-7f8091a2b3c4";
const jwks = { keys: [publicJwk("test-rsa"), publicJwk("test-ec")] };

const call = (method: string, params: object, id = request_id) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const execution = call("execute_task", { channel: "C0G9QF9GW", text: "Deploy v42 関所" });
const poll = call("get_task", { request_id });
const sha256 = (body: string | Buffer) => createHash("sha256").update(body).digest("hex");
const base64url = (bytes: string | Buffer) => Buffer.from(bytes).toString("base64url");

/** A UUID that is the same each time. */
function uuidOf(name: string): string {
  const hex = sha256(name);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function claimsOf(name: string, body: string | Buffer): Fields {
  return {
    iss: issuer,
    aud: audience,
    sub: "slack:T012AB3CD:U023BECGF",
    client_id: zone,
    act: { sub: zone },
    jti: uuidOf(name),
    iat: now - 10,
    exp: now + 290,
    slack_team: "T012AB3CD",
    slack_user: "U023BECGF",
    slack_channel: "C0G9QF9GW",
    slack_thread: "1799999990.000100",
    request_id,
    body_sha256: sha256(body),
  };
}

function makeVector(name: string, expected: Vector["expected"], defect: Defect = {}): Vector {
  const { key = "test-rsa", signedBody = execution, first } = defect;
  const { alg } = testKeys[key];
  const header =
    defect.headerText ?? JSON.stringify({ alg, kid: key, typ: "at+jwt", ...defect.header });
  const text = JSON.stringify({ ...claimsOf(name, signedBody), ...defect.claims });
  const { claimsText = text } = defect;
  const claims = typeof claimsText === "string" ? claimsText : claimsText(text);
  const input = `${base64url(header)}.${base64url(claims)}`;
  const genuine =
    key === "test-ec" || key === "attacker-ec" ? signEs256(key, input) : signRs256(key, input);
  const signature = defect.signature?.(input, genuine) ?? genuine;
  const token = `${input}.${base64url(signature)}`;
  return {
    name,
    expected,
    now: defect.now ?? now,
    token: defect.edit?.(token) ?? token,
    body: Buffer.from(defect.body ?? signedBody).toString("base64"),
    ...(first && { first }),
  };
}

/** A token for polls has no digest. */
const withoutDigest = (signedBody: string): Defect => ({
  signedBody,
  claims: { body_sha256: undefined },
});

/** Changes one of the three parts. */
const replacePart = (index: number, edit: (part: string) => string) => (token: string) =>
  token
    .split(".")
    .map((part, at) => (at === index ? edit(part) : part))
    .join(".");

/** The last character of a signature has four bits that belong to no byte. Another such character means the same bytes. */
function flipUnusedBit(part: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.slice(-1)) ^ 1];
}

const person: [string, Vector["expected"], Defect?][] = [
  ["a token with RS256", "valid"],
  ["a token with ES256", "valid", { key: "test-ec" }],
  ["the long form of the type", "valid", { header: { typ: "application/at+jwt" } }],
  [
    "an opaque subject without fields of Slack",
    "valid",
    {
      claims: {
        sub: "Tm90IGEgbmFtZSwgb25seSBzYW1lIGZvciBldmVyIQ0",
        ...{ slack_team: undefined, slack_user: undefined },
        ...{ slack_channel: undefined, slack_thread: undefined },
      },
    },
  ],
  ["no person: the subject is the zone", "valid", { claims: { sub: zone, act: undefined } }],
  [
    "a person of an organization, with an address",
    "valid",
    {
      claims: { slack_enterprise: "E0HXYZ123", email: "kim@example.com" },
    },
  ],
  ["an unknown claim", "valid", { claims: { added_later: ["a", { b: 1 }] } }],
  ["an unknown field of the header", "valid", { header: { added_later: "a" } }],
  ["a start of validity in the past", "valid", { claims: { nbf: now - 10 } }],
  ["a digest of a body that is not JSON", "valid", { signedBody: Buffer.of(0xff, 0x00, 0x7b) }],
  ["a digest for a poll", "valid", { signedBody: poll }],
  ["answer_task", "valid", { signedBody: call("answer_task", { task_id: "a", answer: "Yes" }) }],
  ["SendMessage of A2A", "valid", { signedBody: call("SendMessage", { message: {} }) }],
];

const polls: [string, Vector["expected"], Defect?][] = [
  ["get_task without a digest", "valid", withoutDigest(poll)],
  ["cancel_task without a digest", "valid", withoutDigest(call("cancel_task", { task_id: "a" }))],
  ["feedback without a digest", "valid", withoutDigest(call("feedback", { task_id: "a" }))],
  ["GetTask of A2A without a digest", "valid", withoutDigest(call("GetTask", { id: "a" }))],
  ["execute_task without a digest", "body", withoutDigest(execution)],
  ["answer_task without a digest", "body", withoutDigest(call("answer_task", { task_id: "a" }))],
  ["SendMessage without a digest", "body", withoutDigest(call("SendMessage", { message: {} }))],
  ["an unknown method without a digest", "body", withoutDigest(call("delete_task", {}))],
  ["a poll's token with execute_task", "body", { ...withoutDigest(poll), body: execution }],
  ["a poll's token with an empty body", "body", { ...withoutDigest(poll), body: "" }],
  ["a poll's token with a batch", "body", { ...withoutDigest(poll), body: `[${poll}]` }],
  [
    "a poll's token with a method that is no text",
    "body",
    {
      ...withoutDigest(poll),
      body: poll.replace('"get_task"', '["get_task"]'),
    },
  ],
  [
    "a poll's token with two methods, the poll last",
    "body",
    {
      ...withoutDigest(poll),
      body: execution.replace(/\}$/, ',"method":"get_task"}'),
    },
  ],
  [
    "a poll's token with two methods, the poll first",
    "body",
    {
      ...withoutDigest(poll),
      body: poll.replace(/\}$/, ',"method":"execute_task"}'),
    },
  ],
];

const bodies: [string, Vector["expected"], Defect?][] = [
  ["other params", "body", { body: execution.replace("v42", "v41") }],
  ["another id", "body", { body: call("execute_task", JSON.parse(execution).params, "a") }],
  ["another method", "body", { body: execution.replace("execute_task", "answer_task") }],
  ["a space more", "body", { body: `${execution} ` }],
  ["a poll in place of the signed task", "body", { body: poll }],
  ["a digest in upper case", "body", { claims: { body_sha256: sha256(execution).toUpperCase() } }],
  ["half a digest", "body", { claims: { body_sha256: sha256(execution).slice(0, 32) } }],
  ["an empty digest", "body", { claims: { body_sha256: "" } }],
  ["a digest in a list", "body", { claims: { body_sha256: [sha256(execution)] } }],
  ["a digest of null with a poll", "body", { signedBody: poll, claims: { body_sha256: null } }],
];

const times: [string, Vector["expected"], Defect?][] = [
  ["the last second", "valid", { now: now + 290 + tolerance_seconds - 1 }],
  ["the second after the last", "time", { now: now + 290 + tolerance_seconds }],
  ["expired for an hour", "time", { now: now + 3600 }],
  ["issued by a clock that is a little fast", "valid", { now: now - 10 - tolerance_seconds }],
  ["issued in the future", "time", { now: now - 10 - tolerance_seconds - 1 }],
  ["not valid yet", "time", { claims: { nbf: now + tolerance_seconds + 1 } }],
  [
    "issued in the future, though valid before",
    "time",
    { claims: { iat: now + tolerance_seconds + 1, exp: now + 300, nbf: now - 10 } },
  ],
  ["valid for an hour", "time", { claims: { exp: now - 10 + 3600 } }],
  ["expired before it was issued", "time", { claims: { iat: now + 20, exp: now + 10 } }],
  ["an end in text", "claims", { claims: { exp: String(now + 290) } }],
  ["an end with a fraction", "claims", { claims: { exp: now + 290.5 } }],
  ["a huge end", "claims", { claims: { exp: 1e300 } }],
  ["an end of null", "claims", { claims: { exp: null } }],
  ["an end that is true", "claims", { claims: { exp: true } }],
  ["a start in text", "claims", { claims: { iat: String(now - 10) } }],
  [
    "a start in text beside a start of validity",
    "claims",
    { claims: { iat: String(now - 10), nbf: now - 10 } },
  ],
  ["a start with a fraction", "claims", { claims: { iat: now - 10.5 } }],
  ["a start of validity in text", "claims", { claims: { nbf: String(now - 10) } }],
];

const claims: [string, Vector["expected"], Defect?][] = [
  ...["iss", "aud", "sub", "client_id", "jti", "iat", "exp", "act"].map(
    (name): [string, Vector["expected"], Defect] => [
      `no ${name}`,
      "claims",
      { claims: { [name]: undefined } },
    ],
  ),
  ["another issuer", "claims", { claims: { iss: "https://asker.example.org" } }],
  ["an issuer with a slash at its end", "claims", { claims: { iss: `${issuer}/` } }],
  ["an issuer in a list", "claims", { claims: { iss: [issuer] } }],
  ["another destination", "claims", { claims: { aud: "https://other.example.com/" } }],
  ["a destination that begins with ours", "claims", { claims: { aud: `${audience}admin` } }],
  ["a destination in another case", "claims", { claims: { aud: audience.toUpperCase() } }],
  [
    "a list of destinations with ours",
    "claims",
    {
      claims: { aud: ["https://other.example.com/", audience] },
    },
  ],
  ["a list of only our destination", "claims", { claims: { aud: [audience] } }],
  ["an empty list of destinations", "claims", { claims: { aud: [] } }],
  [
    "another zone",
    "claims",
    {
      claims: { client_id: `${zone}-2`, act: { sub: `${zone}-2` } },
    },
  ],
  ["a zone in a list", "claims", { claims: { client_id: [zone] } }],
  ["another actor", "claims", { claims: { act: { sub: `${zone}-2` } } }],
  ["an actor in text", "claims", { claims: { act: zone } }],
  ["an actor of null", "claims", { claims: { act: null } }],
  ["an actor without a subject", "claims", { claims: { act: { iss: issuer } } }],
  ["a subject that is a number", "claims", { claims: { sub: 1 } }],
  ["an empty subject", "claims", { claims: { sub: "" } }],
  ["a jti that is a number", "claims", { claims: { jti: 1 } }],
  ["an empty jti", "claims", { claims: { jti: "" } }],
  ["a user that is an object", "claims", { claims: { slack_user: { id: "U023BECGF" } } }],
  ["a team that is a number", "claims", { claims: { slack_team: 1 } }],
  ["an address of null", "claims", { claims: { email: null } }],
];

const attackerJwk = publicJwk("attacker-rsa");

const keys: [string, Vector["expected"], Defect?][] = [
  [
    "signed by another key of RSA",
    "signature",
    { key: "attacker-rsa", header: { kid: "test-rsa" } },
  ],
  ["signed by another key of EC", "signature", { key: "attacker-ec", header: { kid: "test-ec" } }],
  ["an unknown key id", "header", { key: "attacker-rsa" }],
  ["an unknown key id of our own key", "header", { header: { kid: "test-rsa-2" } }],
  ["no key id", "header", { header: { kid: undefined } }],
  ["a key id that is a number", "header", { header: { kid: 0 } }],
  ["a key id in a list", "header", { header: { kid: ["test-rsa"] } }],
  [
    "the attacker's key in the header",
    "signature",
    {
      key: "attacker-rsa",
      header: { kid: "test-rsa", jwk: attackerJwk },
    },
  ],
  [
    "the attacker's key in the header, with its id",
    "header",
    {
      key: "attacker-rsa",
      header: { jwk: attackerJwk },
    },
  ],
  [
    "the address of the attacker's keys",
    "signature",
    {
      key: "attacker-rsa",
      header: { kid: "test-rsa", jku: "https://attacker.example.com/jwks.json" },
    },
  ],
  [
    "a certificate in the header",
    "signature",
    {
      key: "attacker-rsa",
      header: { kid: "test-rsa", x5c: ["MIIB"], x5u: "https://attacker.example.com/a.pem" },
    },
  ],
];

const headers: [string, Vector["expected"], Defect?][] = [
  [
    "the algorithm none without a signature",
    "malformed",
    {
      header: { alg: "none" },
      edit: replacePart(2, () => ""),
    },
  ],
  ["the algorithm none with a signature", "header", { header: { alg: "none" } }],
  ["the algorithm nOnE", "header", { header: { alg: "nOnE" } }],
  [
    "HS256 with the public key as the secret",
    "header",
    {
      header: { alg: "HS256" },
      signature: (input) => signHs256WithPublicKey("test-rsa", input),
    },
  ],
  ["RS256 with a key of EC", "header", { header: { kid: "test-ec" } }],
  ["ES256 with a key of RSA", "header", { key: "test-ec", header: { kid: "test-rsa" } }],
  [
    "RS512 with our key",
    "header",
    {
      header: { alg: "RS512" },
      signature: (input) =>
        sign(
          "sha512",
          Buffer.from(input),
          createPrivateKey({ key: testKeys["test-rsa"], format: "jwk" }),
        ),
    },
  ],
  ["the algorithm in lower case", "header", { header: { alg: "rs256" } }],
  ["no algorithm", "header", { header: { alg: undefined } }],
  ["an algorithm in a list", "header", { header: { alg: ["RS256"] } }],
  ["the type JWT", "header", { header: { typ: "JWT" } }],
  ["no type", "header", { header: { typ: undefined } }],
  ["the type of another token", "header", { header: { typ: "dpop+jwt" } }],
  ["a type in a list", "header", { header: { typ: ["at+jwt"] } }],
  [
    "an ID token",
    "header",
    {
      header: { typ: "JWT" },
      claims: { nonce: "n-0S6_WzA2Mj", auth_time: now - 20, body_sha256: undefined },
      signedBody: poll,
    },
  ],
  ["a critical field", "header", { header: { crit: ["exp"], exp: now + 290 } }],
  ["an empty list of critical fields", "header", { header: { crit: [] } }],
  ["a payload that is not encoded", "header", { header: { crit: ["b64"], b64: false } }],
  [
    "a header with a key twice",
    "malformed",
    {
      headerText: '{"alg":"none","alg":"RS256","kid":"test-rsa","typ":"at+jwt"}',
    },
  ],
  ["a header that is a list", "malformed", { headerText: '["RS256","test-rsa","at+jwt"]' }],
  ["a header that is not JSON", "malformed", { headerText: "alg=RS256" }],
];

const signatures: [string, Vector["expected"], Defect?][] = [
  [
    "other claims under the signature",
    "signature",
    {
      edit: replacePart(1, (part) =>
        base64url(Buffer.from(part, "base64url").toString().replaceAll("U023BECGF", "U0000ADMIN")),
      ),
    },
  ],
  [
    "another header over the signature",
    "signature",
    {
      edit: replacePart(0, () => base64url('{"kid":"test-rsa","alg":"RS256","typ":"at+jwt"}')),
    },
  ],
  [
    "a flipped bit in the signature",
    "signature",
    {
      signature: (_input, genuine) =>
        Buffer.concat([Buffer.of((genuine[0] ?? 0) ^ 1), genuine.subarray(1)]),
    },
  ],
  [
    "a byte less in the signature",
    "signature",
    {
      signature: (_input, genuine) => genuine.subarray(0, -1),
    },
  ],
  [
    "a byte more in the signature",
    "signature",
    {
      signature: (_input, genuine) => Buffer.concat([genuine, Buffer.of(0)]),
    },
  ],
  ["a signature of zeros", "signature", { signature: () => Buffer.alloc(256) }],
  ["a signature with PSS padding", "signature", { signature: signPss }],
  ["ES256 in DER", "signature", { key: "test-ec", signature: (_input, genuine) => toDer(genuine) }],
  ["ES256 with r and s zero", "signature", { key: "test-ec", signature: () => Buffer.alloc(64) }],
  [
    "ES256 with r and s the order of the group",
    "signature",
    {
      key: "test-ec",
      signature: () => Buffer.concat([toBytes(groupOrder), toBytes(groupOrder)]),
    },
  ],
  [
    "ES256 with a byte more",
    "signature",
    {
      key: "test-ec",
      signature: (_input, genuine) => Buffer.concat([genuine, Buffer.of(0)]),
    },
  ],
  [
    "ES256 with r and s swapped",
    "signature",
    {
      key: "test-ec",
      signature: (_input, genuine) =>
        Buffer.concat([genuine.subarray(32), genuine.subarray(0, 32)]),
    },
  ],
];

/** The salt is empty, because a random one would give other bytes each time. */
function signPss(input: string): Buffer {
  const key = createPrivateKey({ key: testKeys["test-rsa"], format: "jwk" });
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  return sign("sha256", Buffer.from(input), { key, padding, saltLength: 0 });
}

const forms: [string, Vector["expected"], Defect?][] = [
  ["an empty token", "malformed", { edit: () => "" }],
  ["two parts", "malformed", { edit: (token) => token.split(".").slice(0, 2).join(".") }],
  ["four parts", "malformed", { edit: (token) => `${token}.e30` }],
  ["five parts, as if encrypted", "malformed", { edit: (token) => `${token}.e30.e30` }],
  ["an empty signature", "malformed", { edit: replacePart(2, () => "") }],
  ["no claims", "malformed", { edit: replacePart(1, () => "") }],
  ["padding", "malformed", { edit: (token) => `${token}==` }],
  ["padding of the claims", "malformed", { edit: replacePart(1, (part) => `${part}=`) }],
  ["a line break at the end", "malformed", { edit: (token) => `${token}\n` }],
  [
    "a line break in the signature",
    "malformed",
    {
      edit: replacePart(2, (part) => `${part.slice(0, 9)}\n${part.slice(9)}`),
    },
  ],
  ["a space at the start", "malformed", { edit: (token) => ` ${token}` }],
  [
    "a space in the claims",
    "malformed",
    {
      edit: replacePart(1, (part) => `${part.slice(0, 9)} ${part.slice(9)}`),
    },
  ],
  [
    "a character outside of the alphabet",
    "malformed",
    {
      edit: replacePart(2, (part) => `${part.slice(0, 9)}*${part.slice(9)}`),
    },
  ],
  [
    "a character outside of ASCII",
    "malformed",
    {
      edit: replacePart(2, (part) => `${part.slice(0, 9)}é${part.slice(9)}`),
    },
  ],
  [
    "the alphabet with plus and slash",
    "malformed",
    {
      edit: replacePart(2, (part) => part.replaceAll("-", "+").replaceAll("_", "/")),
    },
  ],
  ["another spelling of the same signature", "malformed", { edit: replacePart(2, flipUnusedBit) }],
  [
    "another spelling of the same signature of ES256",
    "malformed",
    {
      key: "test-ec",
      edit: replacePart(2, flipUnusedBit),
    },
  ],
  [
    "claims with a key twice",
    "malformed",
    {
      claimsText: (text) => text.replace(/\}$/, ',"sub":"slack:T012AB3CD:U0000ADMIN"}'),
    },
  ],
  [
    "claims with a key twice in the actor",
    "malformed",
    {
      claimsText: (text) => text.replace('"act":{', '"act":{"sub":"a",'),
    },
  ],
  [
    "claims with a key twice, once escaped",
    "malformed",
    {
      claimsText: (text) => text.replace(/\}$/, ',"s\\u0075b":"slack:T012AB3CD:U0000ADMIN"}'),
    },
  ],
  ["claims that are a list", "malformed", { claimsText: (text) => `[${text}]` }],
  ["claims that are null", "malformed", { claimsText: "null" }],
  ["claims that are not JSON", "malformed", { claimsText: (text) => text.slice(0, -1) }],
  ["claims with text after them", "malformed", { claimsText: (text) => `${text}{}` }],
  ["a token of more than 8 KB", "malformed", { claims: { added_later: "a".repeat(6500) } }],
];

/** Requests after another one. */
function makeRepeated(): Vector[] {
  const request = ({ now, token, body }: Vector) => ({ now, token, body });
  const once = makeVector("sent twice", "valid");
  const ec = makeVector("sent twice with ES256", "valid", { key: "test-ec" });
  const twice = makeVector("a poll's token sent twice", "valid", withoutDigest(poll));
  const swapped = request(makeVector("a token whose body was swapped before", "valid"));
  const otherBody = Buffer.from(execution.replace("v42", "v41")).toString("base64");
  // Both s and its negative are valid with r, so that a verifier must not remember tokens by their text.
  const twin = makeVector(ec.name, "replayed", {
    key: "test-ec",
    signature: (_input, genuine) => negateS(genuine),
  });
  return [
    { ...once, expected: "replayed", first: request(once) },
    { ...ec, expected: "replayed", first: request(ec) },
    { ...twin, name: "sent twice, with the other signature of ES256", first: request(ec) },
    { ...twice, first: request(twice) },
    makeVector("the jti of another token", "replayed", {
      claims: { jti: uuidOf("sent twice") },
      first: request(once),
    }),
    makeVector("sent twice, in the last second", "replayed", {
      claims: { jti: uuidOf("sent twice") },
      now: now + 290 + tolerance_seconds - 1,
      first: request(once),
    }),
    makeVector("a token whose body was swapped before", "valid", {
      first: { ...swapped, body: otherBody },
    }),
  ];
}

export function createVectorFile(): VectorFile {
  const rows = [person, polls, bodies, times, claims, keys, headers, signatures, forms].flat();
  const vectors = rows.map(([name, expected, defect]) => makeVector(name, expected, defect));
  return {
    about:
      "Test vectors of the token that says who asked. The keys are test keys: their private halves are public. Each vector is for a new verifier.",
    settings: { issuer, audience, zones: [zone], tolerance_seconds, jwks },
    vectors: [...vectors, ...makeRepeated()],
  };
}
