/** Attacks the caches of tokens: calls of many persons that overlap, with services that are slow or fail and a clock that jumps. */
import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { AskerAudience, AskerPerson, AskerTokens } from "@sekisho/runtime/asker/asker.ts";
import { createAskerTokens } from "@sekisho/runtime/asker/tokens.ts";
import { createAskerAuthorizer, withAskerHeader } from "@sekisho/runtime/auth/asker.ts";
import type {
  AddedCredentials,
  Authorizer,
  OutgoingRequest,
} from "@sekisho/runtime/auth/authorizer.ts";
import { createTokenExchangeAuthorizer } from "@sekisho/runtime/auth/token-exchange.ts";
import { createWebIdentityAuthorizer } from "@sekisho/runtime/auth/web-identity.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { hangMs } from "../../tooling/hang.ts";

const issuer = "https://asker.example";
const zone = "a-zone";
const header = "sekisho-asker";
const tokenUrl = "https://login.example/token";

/** Some share a user id, a workspace or an organization. */
const persons: readonly (AskerPerson | undefined)[] = [
  { team: "T1", user: "U1" },
  { team: "T1", user: "U2" },
  { team: "T2", user: "U1" },
  { team: "T1", enterprise: "E1", user: "U1" },
  { team: "T2", enterprise: "E1", user: "U1" },
  { team: "T1", user: "U1", email: "kim@example.com" },
  undefined,
];
const kinds = ["bearer", "header", "tags", "received"] as const;
type Kind = (typeof kinds)[number];

const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("call" as const),
      person: fc.constantFrom(...persons),
      kind: fc.constantFrom(...kinds),
      isOwnWord: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("end" as const), at: fc.nat(), fails: fc.boolean() }),
  },
  fc.record({
    do: fc.constant("wait" as const),
    ms: fc.constantFrom(1000, 100_000, 200_000, 290_000, 700_000, -100_000),
  }),
  fc.record({ do: fc.constant("abort" as const), at: fc.nat() }),
  fc.record({ do: fc.constant("refuse" as const), at: fc.nat() }),
  fc.record({ do: fc.constant("push" as const) }),
);

type Call = {
  person: AskerPerson | undefined;
  kind: Kind;
  isOwnWord: boolean;
  id: string;
  version: number;
  authorizer: Authorizer;
  abort: AbortController;
  credentials?: AddedCredentials;
};

/** Everything outside answers when the test says so. */
function createWorld() {
  const clock = { nowMs: Date.UTC(2026, 10, 30) };
  const now = () => clock.nowMs;
  const pending: { end: (fails: boolean) => void }[] = [];
  const work = <T>(result: T) =>
    new Promise<T>((resolve, reject) => {
      const error = new SekishoError("unavailable", { certainty: "undelivered" });
      pending.push({ end: (fails) => (fails ? reject(error) : resolve(result)) });
    });
  const tokens = createAskerTokens({
    ...{ issuer, clientId: zone, now },
    signer: {
      algorithm: "ES256",
      sign: async ({ textOf }) =>
        work({ text: textOf("key-1"), signature: Buffer.from("signature") }),
    },
  });
  return { clock, tokens, ...createDestinations({ now, tokens, work }), pending };
}

function createDestinations(world: {
  now: () => number;
  tokens: AskerTokens;
  work: <T>(result: T) => Promise<T>;
}) {
  const { now, tokens, work } = world;
  const cacheOptions = { now, random: () => 0, timeoutMs: hangMs };
  const exchange = {
    ...{ tokenUrl, grant: "token-exchange" as const, clientAuthentication: "basic" as const },
    post: async ({ body }: { body: unknown }) => {
      const form = body instanceof URLSearchParams ? body : new URLSearchParams();
      const subjectToken = form.get("subject_token");
      const traded = { subjectToken, atMs: now(), exp: now() / 1000 + 600 };
      return work({ access_token: encode(traded), token_type: "Bearer", expires_in: 600 });
    },
    ...cacheOptions,
  };
  const sts = {
    getWebIdentityToken: async ({ tags }: { tags?: object | undefined }) =>
      work(encode({ tags, exp: now() / 1000 + 300 })),
  };
  return {
    open: (version: number): Record<Kind, Authorizer> => {
      const asker = { tokens, to: audienceOf(version) };
      return {
        bearer: createAskerAuthorizer(asker),
        header: withAskerHeader({
          ...{ ...asker, header, now },
          authorizer: createTokenExchangeAuthorizer({ ...exchange, asker }),
        }),
        tags: createWebIdentityAuthorizer({ sts, audience: "aws", tags: true, ...cacheOptions }),
        received: createTokenExchangeAuthorizer(exchange),
      };
    },
  };
}

function audienceOf(version: number): AskerAudience {
  const claims = ["team", "user", "email"] as const;
  return { audience: `https://agent.example/${version}`, claims, subject: "slack" };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decode(part = ""): Record<string, unknown> {
  return Object(JSON.parse(Buffer.from(part, "base64url").toString()));
}

function requestOf({ person, kind, isOwnWord, id, abort }: Omit<Call, "authorizer">) {
  const request: OutgoingRequest = {
    ...{ method: "POST", url: new URL("https://agent.example/"), headers: {} },
    ...{ body: Buffer.from(id), signal: abort.signal },
  };
  if (person === undefined) return request;
  return kind === "received"
    ? { ...request, received: { person: nameOf(person), token: `${nameOf(person)} ${id}` } }
    : { ...request, asker: { person, requestId: id, isOwnWord } };
}

function nameOf(person: AskerPerson): string {
  return JSON.stringify(person);
}

/** The claims that say who asked. */
function claimsOf(person: AskerPerson | undefined): object {
  if (person === undefined) return { sub: zone };
  const { team, enterprise, user, email } = person;
  return {
    ...{ sub: `slack:${enterprise ?? team}:${user}`, act: { sub: zone } },
    ...{ slack_team: team, slack_user: user },
    ...(enterprise && { slack_enterprise: enterprise }),
    ...(email && { email }),
  };
}

function checkTime({ exp, iat = 0 }: Record<string, unknown>, nowMs: number): void {
  expect(Number(exp) * 1000).toBeGreaterThan(nowMs);
  expect(Number(iat) * 1000).toBeLessThanOrEqual(nowMs);
}

/** Checks what a call sends, at the time at which it gets it. */
function checkCredentials(call: Call, headers: Readonly<Record<string, string>>, nowMs: number) {
  const { person, kind, version, isOwnWord, id } = call;
  const checkToken = (token: string | undefined, audience: string, isForCall: boolean) => {
    const { iss: _iss, client_id: _zone, jti: _jti, ...claims } = decode(token?.split(".")[1]);
    checkTime(claims, nowMs);
    const own = { request_id: id, body_sha256: hash("sha256", id) };
    const expected = { aud: audience, ...claimsOf(person), ...(isForCall && own) };
    expect(claims).toEqual({ ...expected, iat: claims.iat, exp: claims.exp });
  };
  const bearer = headers.authorization?.replace("Bearer ", "");
  const isForCall = isOwnWord && person !== undefined;
  if (kind === "bearer") return checkToken(bearer, audienceOf(version).audience, isForCall);
  const credential = decode(bearer);
  checkTime(credential, nowMs);
  if (kind === "tags") {
    const { team, user, enterprise } = person ?? {};
    const tags = { slack_team: team, slack_user: user, slack_enterprise: enterprise };
    return expect(credential.tags).toEqual(tags);
  }
  if (kind === "received") {
    const [name] = String(credential.subjectToken).split(" ");
    return expect(name).toBe(person && nameOf(person));
  }
  const subject = decode(String(credential.subjectToken).split(".")[1]);
  checkTime(subject, Number(credential.atMs));
  expect(subject).toMatchObject({ aud: tokenUrl, ...claimsOf(person) });
  expect(Object.keys(subject)).not.toContain("request_id");
  if (person === undefined) expect(headers).not.toHaveProperty(header);
  else checkToken(headers[header], audienceOf(version).audience, isForCall);
}

/** Lets everything happen that needs no time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
}

function pick<T>(items: readonly T[], at: number): T | undefined {
  return items[at % Math.max(items.length, 1)];
}

describe("the token of one person", () => {
  it("never goes out for another, to another destination, or after its time", async () => {
    let countOfSent = 0;
    await forAll(fc.array(command, { minLength: 20, maxLength: 60 })).holdAsync(
      async (commands) => {
        const { clock, open, pending } = createWorld();
        let version = 1;
        let authorizers = open(version);
        const calls: Call[] = [];
        const problems: unknown[] = [];

        function start({ person, kind, isOwnWord }: Pick<Call, "person" | "kind" | "isOwnWord">) {
          const abort = new AbortController();
          const id = `request-${calls.length}`;
          const authorizer = authorizers[kind];
          const call: Call = { person, kind, isOwnWord, id, version, authorizer, abort };
          calls.push(call);
          Promise.resolve(authorizer.authorize(requestOf(call))).then(
            (credentials) => {
              call.credentials = credentials;
              countOfSent += 1;
              try {
                checkCredentials(call, credentials.headers ?? {}, clock.nowMs);
              } catch (problem) {
                problems.push(problem);
              }
            },
            () => {},
          );
        }

        async function end(at: number, fails: boolean) {
          const [work] = pending.splice(at % Math.max(pending.length, 1), 1);
          work?.end(fails);
        }

        for (const one of commands) {
          if (one.do === "call") start(one);
          if (one.do === "end") await end(one.at, one.fails);
          if (one.do === "wait") clock.nowMs += one.ms;
          if (one.do === "abort") pick(calls, one.at)?.abort.abort();
          if (one.do === "refuse") {
            const { authorizer, credentials } = pick(calls, one.at) ?? {};
            if (credentials !== undefined) authorizer?.refresh?.(credentials);
          }
          if (one.do === "push") authorizers = open(++version);
          await settle();
        }
        while (pending.length > 0) {
          await end(pending.length - 1, false);
          await settle();
        }
        if (problems.length > 0) throw problems[0];
      },
      150,
    );
    expect(countOfSent).toBeGreaterThan(600);
  });

  it("goes out for its person only, among more persons than the caches hold", async () => {
    const { clock, open, pending } = createWorld();
    const { header: authorizer } = open(1);
    const calls = Array.from({ length: 1200 }, (_, index): Call => {
      const person = { team: "T1", user: `U${index}` };
      const abort = new AbortController();
      const id = `request-${index}`;
      return { ...{ person, kind: "header", isOwnWord: false, id }, version: 1, authorizer, abort };
    });
    for (const round of [calls, calls.toReversed()]) {
      const sent = Promise.all(round.map((call) => authorizer.authorize(requestOf(call))));
      for (await settle(); pending.length > 0; await settle())
        for (const { end } of pending.splice(0).toReversed()) end(false);
      for (const [index, { headers = {} }] of (await sent).entries()) {
        const call = round[index];
        if (call !== undefined) checkCredentials(call, headers, clock.nowMs);
      }
    }
  });

  it.each([
    ["its signature takes longer than it may be used", 210_000, true],
    ["its signature takes longer than it may be used", 210_000, false],
    ["the clock is set back meanwhile", -60_000, true],
  ])("stays here if %s (%d ms)", async (_why, ms, isOwnWord) => {
    const { clock, tokens, pending } = createWorld();
    const [person] = persons;
    const asker = person && { person, requestId: "request-1", isOwnWord };
    const issue = () =>
      tokens.issue({
        ...{ to: audienceOf(1), asker, body: Buffer.from("{}") },
        signal: new AbortController().signal,
      });
    const late = issue();
    late.catch(() => {});
    await settle();
    clock.nowMs += ms;
    pending.pop()?.end(false);
    await expect(late).rejects.toMatchObject({
      ...{ reason: "unavailable", certainty: "undelivered" },
    });
    const next = issue();
    await settle();
    pending.pop()?.end(false);
    checkTime(decode((await next).split(".")[1]), clock.nowMs);
  });

  it("stays here if the other authorizer's credentials take longer than it lives", async () => {
    const { clock, open, pending } = createWorld();
    const [person] = persons;
    const abort = new AbortController();
    const { header: authorizer } = open(1);
    const call: Call = {
      ...{ person, kind: "header", isOwnWord: true, id: "request-1", version: 1 },
      ...{ authorizer, abort },
    };
    const late = Promise.resolve(authorizer.authorize(requestOf(call)));
    late.catch(() => {});
    // The signatures of both tokens.
    for (const _signature of ["the call's", "the traded one's"]) {
      await settle();
      pending.pop()?.end(false);
    }
    await settle();
    clock.nowMs += 300_000;
    pending.pop()?.end(false);
    await expect(late).rejects.toMatchObject({
      ...{ reason: "unavailable", certainty: "undelivered" },
    });
    const next = authorizer.authorize(requestOf(call));
    await settle();
    pending.pop()?.end(false);
    checkCredentials(call, (await next).headers ?? {}, clock.nowMs);
  });
});
