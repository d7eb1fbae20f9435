/** Callers that an endpoint must refuse: what each of them sends instead of the right bearer token. */

/** `token` is the right one, or undefined if the caller proves itself in another way, such as by a signature. */
type Alteration = (token: string | undefined) => Readonly<Record<string, string>>;

const wrongToken = "7f0e-a-token-that-nobody-gave-out-c41b";

const bearer = (token: string) => ({ authorization: `Bearer ${token}`.trim() });
/** Where the change does not apply to the token, the token is one that nobody gave out. */
const alterToken =
  (change: (token: string) => string): Alteration =>
  (token = "") => {
    const changedToken = token === "" ? token : change(token);
    return bearer(changedToken === token ? wrongToken : changedToken);
  };
const fixToken =
  (token: string): Alteration =>
  () =>
    bearer(token);

const addressHeaders = [
  ...[
    "x-forwarded-for",
    "x-original-forwarded-for",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
  ],
  ...[
    "x-originating-ip",
    "x-remote-ip",
    "x-remote-addr",
    "true-client-ip",
    "cf-connecting-ip",
    "fastly-client-ip",
  ],
];
/** Proxies name the user under every pair of these, such as `x-forwarded-user` and `remote-user`. */
const userHeaders = [
  ...[
    "",
    "x-",
    "x-forwarded-",
    "x-original-",
    "x-remote-",
    "remote-",
    "x-auth-request-",
    "x-authenticated-",
  ].flatMap((proxy) =>
    ["user", "user-id", "username", "preferred-username", "email", "principal"].map(
      (name) => proxy + name,
    ),
  ),
  ...[
    "x-amzn-oidc-identity",
    "x-ms-client-principal-name",
    "x-goog-authenticated-user-email",
    "x-webauth-user",
  ],
  ...["tailscale-user-login", "x-api-key"],
];

/** Where a filter reads the path or the method from these, it may take the request for one that needs no token. */
const pathHeaders = [
  "x-original-url",
  "x-rewrite-url",
  "x-original-uri",
  "x-forwarded-uri",
  "x-forwarded-path",
];
const methodHeaders = [
  "x-http-method-override",
  "x-method-override",
  "x-forwarded-method",
  "x-original-method",
];

const kinds = {
  nobody: ["no token", () => ({})],
  wrong: ["a token that nobody gave out", fixToken(wrongToken)],
  truncated: ["the token without its last character", alterToken((token) => token.slice(0, -1))],
  extended: ["the token with one character more at its end", alterToken((token) => `${token}x`)],
  prefixed: [
    "the token with one character more at its beginning",
    alterToken((token) => `x${token}`),
  ],
  changed: [
    "the token with another character in its middle",
    alterToken((token) => changeAt(token, token.length / 2)),
  ],
  // Not the last character, whose low bits mean nothing in base64.
  "changed-at-the-end": [
    "the token with another character at its end",
    alterToken((token) => changeAt(token, token.length - 2)),
  ],
  "case-flipped": ["the token in the other case", alterToken(flipCase)],
  empty: ["an empty token", fixToken("")],
  null: ["the token null", fixToken("null")],
  undefined: ["the token undefined", fixToken("undefined")],
  wildcard: ["the token *", fixToken("*")],
  injected: ["a token with quotes and a condition of SQL", fixToken("' OR '1'='1")],
  "other-scheme": [
    "a user and a password that nobody gave out (Basic)",
    () => ({ authorization: `Basic ${btoa("user:password")}` }),
  ],
  forwarded: [
    "no token, and headers that say that the request comes from this machine",
    () => ({
      ...Object.fromEntries(addressHeaders.map((name) => [name, "127.0.0.1"])),
      forwarded: "for=127.0.0.1",
      "x-forwarded-host": "localhost",
    }),
  ],
  named: [
    "no token, and headers by which a proxy names its user",
    () => Object.fromEntries(userHeaders.map((name) => [name, "admin"])),
  ],
  rewritten: [
    "no token, and headers by which a proxy names another path or method",
    () => ({
      ...Object.fromEntries(pathHeaders.map((name) => [name, "/ping"])),
      ...Object.fromEntries(methodHeaders.map((name) => [name, "OPTIONS"])),
    }),
  ],
  unsigned: [
    "a JWT with alg none in place of its signature, or else a wrong token",
    alterToken((token) => unsign(token, "none")),
  ],
  "oddly-unsigned": [
    "a JWT with alg nOnE in place of its signature, or else a wrong token",
    alterToken((token) => unsign(token, "nOnE")),
  ],
  "without-signature": [
    "a JWT whose signature is empty, or else a wrong token",
    alterToken((token) => token.replace(jwt, "$1.$2.")),
  ],
  "other-claims": [
    "a JWT with another subject and the same signature, or else a wrong token",
    alterToken(changeClaims),
  ],
} as const satisfies Record<string, readonly [what: string, alter: Alteration]>;

export type Stranger = keyof typeof kinds;
export const strangers = Object.keys(kinds) as Stranger[];

/** Completes "a call with". */
export function describeStranger(stranger: Stranger): string {
  return kinds[stranger][0];
}

/** The headers that the stranger sends in place of those of the right caller. */
export function strangersHeaders(
  stranger: Stranger,
  authorization: string | undefined,
): Readonly<Record<string, string>> {
  const [, token] = /^Bearer (.+)$/i.exec(authorization ?? "") ?? [];
  return kinds[stranger][1](token);
}

/** RFC 7519, section 3. */
const jwt = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;

function changeAt(token: string, position: number): string {
  const at = Math.floor(position);
  return token.slice(0, at) + (token[at] === "x" ? "y" : "x") + token.slice(at + 1);
}

function flipCase(token: string): string {
  return token.replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}

/** An unsecured JWT with the same claims (RFC 7519, section 6). */
function unsign(token: string, alg: string): string {
  return token.replace(jwt, (_token, _header, claims) => `${encode({ alg })}.${claims}.`);
}

function changeClaims(token: string): string {
  return token.replace(jwt, (_token, header: string, claims: string, signature: string) => {
    const claimsText = Buffer.from(claims, "base64url").toString();
    return `${header}.${encode({ ...readObject(claimsText), sub: "somebody-else" })}.${signature}`;
  });
}

function readObject(json: string): object {
  try {
    return Object(JSON.parse(json));
  } catch {
    return {};
  }
}

function encode(json: object): string {
  return Buffer.from(JSON.stringify(json)).toString("base64url");
}
