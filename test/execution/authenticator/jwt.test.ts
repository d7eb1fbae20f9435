/** Who a signed token lets in, and that everyone else hears the same, before a byte of the body is read. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createJwtAuthenticator } from "@sekisho/execution/authenticator/jwt.ts";
import fc from "fast-check";
import { CompactEncrypt, exportJWK, exportSPKI } from "jose";
import { type JwksIssuer, newKey, signWith, startJwksIssuer } from "../../doubles/issuers/jwks.ts";
import { post } from "../test-host.ts";
import { permissionDenied, serveAuthenticator, unauthenticated } from "./ask.ts";

const audience = "https://agents.example";
const subject = "arn:aws:iam::111122223333:role/Verification";
const good = { aud: audience, sub: subject };
const nowSeconds = () => Math.floor(Date.now() / 1000);

let rsa: JwksIssuer;
let ec: JwksIssuer;
beforeAll(async () => {
  [rsa, ec] = await Promise.all([startJwksIssuer({ alg: "RS256" }), startJwksIssuer()]);
});
afterAll(() => Promise.all([rsa.close(), ec.close()]));

function authenticator() {
  const each = {
    audience,
    subjects: [subject],
    algorithms: ["RS256" as const, "ES256" as const],
    clockToleranceSeconds: 30,
    maxLifetimeSeconds: 7200,
  };
  return createJwtAuthenticator({
    issuers: [
      { ...each, issuer: rsa.issuer },
      { ...each, issuer: ec.issuer, jwksUrl: ec.jwksUrl, subjects: [subject, "another"] },
    ],
  });
}

const base64 = (json: unknown) => Buffer.from(JSON.stringify(json)).toString("base64url");

/** Signed as HS256 with bytes that everyone can know. */
function hmacToken(secret: string | Buffer): string {
  const signedPart = `${base64({ alg: "HS256", kid: rsa.key().kid })}.${base64({ ...goodOf(rsa), ...good })}`;
  return `${signedPart}.${createHmac("sha256", secret).update(signedPart).digest("base64url")}`;
}

function goodOf({ issuer }: JwksIssuer) {
  return { iss: issuer, iat: nowSeconds(), exp: nowSeconds() + 300, ...good };
}

async function editToken(change: (parts: string[]) => string[]): Promise<string> {
  return change((await rsa.sign(good)).split(".")).join(".");
}

/** Each is good but for what its name says; `kind` is all that the log has of it. */
const bad: Record<string, [kind: string | undefined, make: () => Promise<string> | string]> = {
  "expired, beyond the tolerance": [
    "ERR_JWT_EXPIRED",
    () => rsa.sign({ ...good, exp: nowSeconds() - 31 }),
  ],
  "not yet valid": [
    "ERR_JWT_CLAIM_VALIDATION_FAILED",
    () => rsa.sign({ ...good, nbf: nowSeconds() + 60 }),
  ],
  "without exp": ["ERR_JWT_CLAIM_VALIDATION_FAILED", () => rsa.sign({ ...good, exp: undefined })],
  "without iat": ["ERR_JWT_CLAIM_VALIDATION_FAILED", () => rsa.sign({ ...good, iat: undefined })],
  "with an iat that is no number": [
    "ERR_JWT_CLAIM_VALIDATION_FAILED",
    () => rsa.sign({ ...good, iat: "1" }),
  ],
  "issued in the future, beyond the tolerance": [
    "ERR_JWT_CLAIM_VALIDATION_FAILED",
    () => rsa.sign({ ...good, iat: nowSeconds() + 60 }),
  ],
  "that lives longer than any of the issuer's may": [
    "ERR_JWT_CLAIM_VALIDATION_FAILED",
    () => rsa.sign({ ...good, exp: nowSeconds() + 7201 }),
  ],
  ...Object.fromEntries(
    ["logout+jwt", "dpop+jwt", "secevent+jwt", "JWE", "application/json", ""].map((typ) => [
      `of the type "${typ}"`,
      ["ERR_JWT_CLAIM_VALIDATION_FAILED", () => rsa.sign(good, { typ })] as [
        string,
        () => Promise<string>,
      ],
    ]),
  ),
  "with an exp that is no number": [
    "ERR_JWT_CLAIM_VALIDATION_FAILED",
    () => rsa.sign({ ...good, exp: "9999999999" }),
  ],
  "for another audience": [
    "ERR_JWT_CLAIM_VALIDATION_FAILED",
    () => rsa.sign({ ...good, aud: "https://agents.example.evil.example" }),
  ],
  "without an audience": ["ERR_JWT_CLAIM_VALIDATION_FAILED", () => rsa.sign({ sub: subject })],
  "without a subject": ["ERR_JWT_CLAIM_VALIDATION_FAILED", () => rsa.sign({ aud: audience })],
  "of an issuer that nobody configured": [
    undefined,
    () => rsa.sign({ ...good, iss: "https://issuer.example" }),
  ],
  "of an issuer with a slash more": [undefined, () => rsa.sign({ ...good, iss: `${rsa.issuer}/` })],
  "without an issuer": [undefined, () => rsa.sign({ ...good, iss: undefined })],
  "signed with the key of another configured issuer": [
    "ERR_JWKS_NO_MATCHING_KEY",
    () => signWith({ key: ec.key(), payload: goodOf(rsa) }),
  ],
  "signed with that key, under the other's kid": [
    "ERR_JWKS_NO_MATCHING_KEY",
    () => signWith({ key: ec.key(), payload: goodOf(rsa), header: { kid: rsa.key().kid } }),
  ],
  "with the alg none": [
    "ERR_JOSE_ALG_NOT_ALLOWED",
    () => `${base64({ alg: "none", kid: rsa.key().kid })}.${base64(goodOf(rsa))}.`,
  ],
  "with the alg nOnE": [
    "ERR_JOSE_ALG_NOT_ALLOWED",
    () => `${base64({ alg: "nOnE" })}.${base64(goodOf(rsa))}.`,
  ],
  "HS256, signed with the public key as PEM": [
    "ERR_JOSE_ALG_NOT_ALLOWED",
    async () => hmacToken(await exportSPKI(rsa.key().publicKey)),
  ],
  "HS256, signed with the public key as DER": [
    "ERR_JOSE_ALG_NOT_ALLOWED",
    async () => {
      const pem = await exportSPKI(rsa.key().publicKey);
      return hmacToken(Buffer.from(pem.replace(/-----.*?-----|\s/g, ""), "base64"));
    },
  ],
  "HS256, signed with nothing": ["ERR_JOSE_ALG_NOT_ALLOWED", () => hmacToken("")],
  "with an algorithm that is not allowed": [
    "ERR_JOSE_ALG_NOT_ALLOWED",
    async () => signWith({ key: await newKey("PS256"), payload: goodOf(rsa) }),
  ],
  "of an unknown kid": ["ERR_JWKS_NO_MATCHING_KEY", () => rsa.sign(good, { kid: "key-of-nobody" })],
  "signed by a stranger under a known kid": [
    "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
    async () =>
      signWith({
        key: await newKey("RS256"),
        payload: goodOf(rsa),
        header: { kid: rsa.key().kid },
      }),
  ],
  "that brings its own key": [
    "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
    async () => {
      const key = await newKey("RS256");
      return signWith({
        key,
        payload: goodOf(rsa),
        header: { jwk: await exportJWK(key.publicKey), kid: undefined },
      });
    },
  ],
  "that wants an extension understood": [
    "ERR_JOSE_NOT_SUPPORTED",
    () =>
      editToken(([, ...otherParts]) => [
        base64({ alg: "RS256", crit: ["x"], x: 1 }),
        ...otherParts,
      ]),
  ],
  "whose payload another took the place of": [
    "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
    () =>
      editToken(([header = "", , signature = ""]) => [
        header,
        base64({ ...goodOf(rsa), sub: "another" }),
        signature,
      ]),
  ],
  "without its signature": [
    "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
    () => editToken((parts) => [...parts.slice(0, 2), ""]),
  ],
  "in two parts": ["ERR_JWT_INVALID", () => editToken((parts) => parts.slice(0, 2))],
  "in four parts": ["ERR_JWT_INVALID", () => editToken((parts) => [...parts, "x"])],
  "with a payload that is no JSON": [
    "ERR_JWT_INVALID",
    () => editToken(([header = "", , signature = ""]) => [header, "e30e30", signature]),
  ],
  "that is encrypted": [
    "ERR_JWT_INVALID",
    async () => {
      const text = new TextEncoder().encode(JSON.stringify(goodOf(rsa)));
      const encrypt = new CompactEncrypt(text).setProtectedHeader({
        alg: "RSA-OAEP",
        enc: "A256GCM",
      });
      return encrypt.encrypt((await newKey("RSA-OAEP")).publicKey);
    },
  ],
  "above 8 KiB": [undefined, () => rsa.sign({ ...good, padding: "x".repeat(8 * 1024) })],
  "that is none": ["ERR_JWT_INVALID", () => "x"],
};

describe("a token", () => {
  it("accepts a trusted issuer's token by discovery, by the URL of the keys, and with several audiences", async () => {
    const { call } = await serveAuthenticator(authenticator());
    expect(await call(await rsa.sign(good))).toBe("success");
    expect(await call(await ec.sign(good))).toBe("success");
    expect(await call(await ec.sign({ ...good, aud: ["https://other.example", audience] }))).toBe(
      "success",
    );
    expect(ec.fetched).toEqual(["/keys"]);
  });

  it("tolerates a clock difference of 20 seconds", async () => {
    const { call } = await serveAuthenticator(authenticator());
    expect(await call(await rsa.sign({ ...good, exp: nowSeconds() - 20 }))).toBe("success");
    expect(await call(await rsa.sign({ ...good, nbf: nowSeconds() + 20 }))).toBe("success");
  });

  it("accepts token lifetimes of Google and Entra", async () => {
    const { call } = await serveAuthenticator(authenticator());
    const entra = { iat: nowSeconds() - 300, nbf: nowSeconds() - 300, exp: nowSeconds() + 90 * 60 };
    expect(await call(await rsa.sign({ ...good, ...entra }))).toBe("success");
    expect(await call(await rsa.sign({ ...good, exp: nowSeconds() + 3600 }))).toBe("success");
    expect(await call(await rsa.sign({ ...good, iat: nowSeconds() + 20 }))).toBe("success");
  });

  it.each([undefined, "JWT", "jwt", "at+jwt", "application/at+jwt"])(
    "accepts a token of the type %s",
    async (typ) => {
      const { call } = await serveAuthenticator(authenticator());
      expect(await call(await rsa.sign(good, typ === undefined ? {} : { typ }))).toBe("success");
    },
  );

  it("answers every refused token alike, before the body arrives", async () => {
    for (const [name, [kind, make]] of Object.entries(bad)) {
      // A log of its own: the same cause has one line per minute.
      const { hear, lines } = await serveAuthenticator(authenticator());
      expect({ name, ...(await hear(await make())) }).toEqual({ name, ...unauthenticated });
      const { timestamp: _now, ...line } = JSON.parse(lines.at(-1) ?? "");
      const refusalLine = {
        ...{
          level: "warn",
          message: "request_refused",
          service: "execution",
          reason: "unauthenticated",
        },
        source_address: "127.0.0.1",
      };
      expect({ name, ...line }).toEqual({
        name,
        ...refusalLine,
        ...(kind && { cause_kind: kind }),
      });
    }
  });

  it.each([`${subject}2`, subject.slice(0, -1), subject.toUpperCase(), "another", "*"])(
    "answers 403 to a valid token of the subject %s, which is not allowed",
    async (sub) => {
      const { hear } = await serveAuthenticator(authenticator());
      expect(await hear(await rsa.sign({ ...good, sub }))).toEqual(permissionDenied);
    },
  );

  it("refuses a token of a megabyte unread, in the server and in the host", async () => {
    const token = "a".repeat(1024 * 1024);
    const { host, hear } = await serveAuthenticator(authenticator());
    expect((await hear(token)).status).toBe(431);
    expect(await hear("a".repeat(12_000))).toEqual(unauthenticated);
    const request = post("{}", { headers: { authorization: `Bearer ${token}` } });
    expect((await host.handle(request)).status).toBe(401);
  });

  it("refuses a token with one changed character before the signature", async () => {
    const authentication = authenticator();
    const token = await ec.sign(good);
    const last = token.lastIndexOf(".");
    const alphabet = [..."ABCxyz019-_."];
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: last - 1 }),
        fc.constantFrom(...alphabet),
        async (place, character) => {
          fc.pre(token[place] !== character);
          const changedToken = token.slice(0, place) + character + token.slice(place + 1);
          const header = (name: string) =>
            name === "authorization" ? `Bearer ${changedToken}` : undefined;
          const principal = await authentication
            .authenticate({ header })
            .catch(({ reason }) => `refused: ${reason}`);
          expect([undefined, "refused: unauthenticated"]).toContain(principal);
        },
      ),
    );
  });
});

describe("a task", () => {
  it("hides a task from other subjects and from the same subject of another issuer", async () => {
    const { call } = await serveAuthenticator(authenticator());
    const id = crypto.randomUUID();
    expect(await call(await ec.sign(good), { id })).toBe("success");
    const ask = { method: "get_task", params: { request_id: id } };
    expect(await call(await ec.sign(good), ask)).toBe("success");
    expect(await call(await rsa.sign(good), ask)).toBe("task_not_found");
    expect(await call(await ec.sign({ ...good, sub: "another" }), ask)).toBe("task_not_found");
  });
});
