/** A destination whose authorization server trades the zone's tokens: from the configuration to what the destination receives. */
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import type { CallAsker } from "@sekisho/runtime/asker/asker.ts";
import { createAskerTokens } from "@sekisho/runtime/asker/tokens.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createDestinations } from "@sekisho/verification/destinations.ts";
import { decodeJwt } from "jose";
import { success } from "../doubles/answers.ts";
import { noCredentials } from "../doubles/aws/no-credentials.ts";
import { type Script, startExecutionPeer } from "../doubles/execution-peer.ts";
import { startExchangeServer, subjectOf } from "../doubles/issuers/exchange-server.ts";
import { closeAfterTest } from "../doubles/serving.ts";
import { hangSignal } from "../tooling/hang.ts";

const zone = "arn:aws:iam::111111111111:role/verification";

const { privateKey: key } = generateKeyPairSync("ec", { namedCurve: "P-256" });

const askerTokens = createAskerTokens({
  issuer: "https://asker.example",
  clientId: zone,
  signer: {
    algorithm: "ES256",
    async sign({ textOf }) {
      const text = textOf("key-1");
      return {
        text,
        signature: sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }),
      };
    },
  },
});

async function openDestination(
  options: { asker?: object; authorizer?: object; script?: Script } = {},
) {
  const { asker, authorizer, script = success } = options;
  const traded: string[] = [];
  const server = closeAfterTest(
    await startExchangeServer({
      readSubject(token) {
        traded.push(token);
        return decodeJwt(token).sub;
      },
    }),
  );
  const peer = closeAfterTest(await startExecutionPeer({ script }));
  const config = parseConfig({
    json: {
      asker: { issuer: "https://asker.example" },
      destinations: {
        far: {
          ...{ transport: "https", url: peer.url, ...(asker && { asker }) },
          authorizer: { type: "token-exchange", tokenUrl: server.tokenUrl, ...authorizer },
        },
      },
      routes: [{ destination: "far" }],
    },
  });
  const readNothing = async () => "";
  const { client } =
    createDestinations({
      ...{ config, readSecret: readNothing, botTokenOf: readNothing },
      ...{ credentials: noCredentials, log: silentLog, askerTokens },
    }).get("far") ?? {};
  if (client === undefined) throw new Error("there is no destination");
  closeAfterTest(client);
  const call = (method: "execute_task" | "get_task", person?: CallAsker["person"]) => {
    const requestId = randomUUID();
    const params =
      method === "get_task"
        ? { request_id: requestId }
        : {
            text: "Hello",
            user_id: person?.user ?? "U0",
            channel: "C1",
            session_id: "s".repeat(36),
          };
    const isOwnWord = method === "execute_task";
    return client.call({
      ...{ method, params, id: requestId, requestId, sessionId: "s".repeat(36), timeoutMs: 30_000 },
      ...{ trace: createTrace(), signal: hangSignal() },
      ...(person && { asker: { person, requestId, isOwnWord } }),
    });
  };
  return { server, peer, traded, call };
}

function bearersOf({ calls }: { calls: readonly { headers: Headers }[] }): string[] {
  return calls.map(({ headers }) =>
    subjectOf(headers.get("authorization")?.replace(/^Bearer /, "") ?? ""),
  );
}

const alice = { team: "T1", user: "U1", channel: "C1", thread: "1.1" };
const bob = { team: "T1", user: "U2", channel: "C1", thread: "1.1" };

it("a destination gets the new token of each person, and none that the zone signed", async () => {
  const { server, peer, traded, call } = await openDestination();
  await Promise.all([alice, bob, alice, bob].map((person) => call("execute_task", person)));
  await Promise.all([call("get_task", bob), call("get_task", alice)]);
  expect(bearersOf(peer).toSorted()).toEqual(
    ["slack:T1:U1", "slack:T1:U2"].flatMap((subject) => Array(3).fill(subject)),
  );
  for (const [index, { params }] of peer.calls.entries())
    if (params.user_id !== undefined)
      expect(bearersOf(peer)[index]).toBe(`slack:T1:${params.user_id}`);
  expect(server.asked).toHaveLength(2);
  const sent = JSON.stringify(peer.calls.map(({ headers, text }) => [[...headers], text]));
  for (const token of traded) expect(sent).not.toContain(token);
  expect(peer.calls.some(({ headers }) => headers.has("sekisho-asker"))).toBe(false);
});

it("an authorization server gets a token for itself that is for no single request", async () => {
  const { server, traded, call } = await openDestination();
  await call("execute_task", alice);
  expect(decodeJwt(traded[0] ?? "")).toEqual({
    ...{ iss: "https://asker.example", aud: server.tokenUrl, sub: "slack:T1:U1" },
    ...{ client_id: zone, act: { sub: zone }, slack_team: "T1", slack_user: "U1" },
    ...{ jti: expect.any(String), iat: expect.any(Number), exp: expect.any(Number) },
  });
});

it("an authorization server gets what the destination's asker says, for its own audience", async () => {
  const { peer, traded, call } = await openDestination({
    asker: { subject: "opaque", audience: "the-agent" },
    authorizer: { subjectAudience: "https://login.example", grant: "jwt-bearer" },
  });
  await call("execute_task", alice);
  const { aud, sub, slack_user } = decodeJwt(traded[0] ?? "");
  expect([aud, sub?.length, slack_user]).toEqual(["https://login.example", 43, undefined]);
  const header = decodeJwt(peer.calls[0]?.headers.get("sekisho-asker") ?? "");
  expect([header.aud, header.sub]).toEqual(["the-agent", sub]);
});

it("a destination gets a token of the zone itself with calls that are for no person", async () => {
  const { peer, call } = await openDestination();
  await call("get_task");
  expect(bearersOf(peer)).toEqual([zone]);
});

it("a destination that refuses a person's token gets a new one, and another person's stays", async () => {
  const { server, peer, call } = await openDestination({
    script: (received) =>
      received.count === 2 ? new Response(null, { status: 401 }) : success(received),
  });
  for (const person of [bob, alice, bob]) await call("execute_task", person);
  expect(bearersOf(peer)).toEqual(["slack:T1:U2", ...Array(2).fill("slack:T1:U1"), "slack:T1:U2"]);
  expect(server.subjects).toEqual(["slack:T1:U2", "slack:T1:U1", "slack:T1:U1"]);
});

it("a destination gets nothing if the authorization server refuses the person", async () => {
  const { server, peer, call } = await openDestination();
  server.instead = () => Response.json({ error: "invalid_grant" }, { status: 400 });
  await expect(call("execute_task", alice)).rejects.toMatchObject({
    reason: "unauthenticated",
    certainty: "undelivered",
  });
  expect(peer.calls).toEqual([]);
});
