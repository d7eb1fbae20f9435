/** Who asked, as destinations that are told get to know it: the signer, what was sent, and what must hold of it. */

import { createHash } from "node:crypto";
import type { Config } from "@sekisho/config/schema.ts";
import { type AskerClaims, askerClaimsSchema } from "@sekisho/contracts/asker-claims.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { AskerTokens } from "@sekisho/runtime/asker/asker.ts";
import { createAskerTokens, reuseMs } from "@sekisho/runtime/asker/tokens.ts";
import type { Transport, TransportRequest } from "@sekisho/verification/transport/transport.ts";
import { withAsker } from "@sekisho/verification/transport/with-asker.ts";
import type { Fate } from "./agreement.ts";
import { operate } from "./operate.ts";
import { currentProcess, type Process } from "./processes.ts";
import { workspace } from "./settings.ts";
import type { World } from "./world.ts";

/** One call as it left the zone. `claims` are those of its token. */
export type SentCall = {
  to: string;
  process: Process | undefined;
  method: string;
  id: string;
  params: Partial<Record<"task_id" | "request_id" | "user_id", string>>;
  claims: AskerClaims | undefined;
  /** The worker has found out who asked. */
  hasAsker: boolean;
  digest: string;
};

type Sent = TransportRequest & { headers?: Readonly<Record<string, string>> | undefined };

const header = "sekisho-asker";
const issuer = "https://asker.example";
const zone = "sekisho";
const times = { usualMs: 10, giveUpMs: 5000, landMs: 5000 };
const unsigned = () => new SekishoError("unavailable", { certainty: "undelivered" });

/** The tokens of one process. Nothing reads the signatures. */
export function createSimTokens({ world }: { world: World }): AskerTokens {
  return createAskerTokens({
    issuer,
    clientId: zone,
    newId: world.newId,
    signer: {
      algorithm: "RS256",
      async sign({ textOf, signal }) {
        world.signatures += 1;
        const text = textOf("key");
        return operate({
          world,
          point: "asker.sign",
          about: () => "a token",
          times,
          failures: { refused: unsigned, unknown: unsigned },
          signal,
          effect: () => ({ text, signature: Buffer.from("a signature") }),
        });
      },
    },
  });
}

/** Adds the token to what leaves the zone for a destination that is told. */
export function tellAsker(options: {
  name: string;
  config: Config;
  tokens: AskerTokens;
  transport: Transport;
}): Transport {
  const { name, config, tokens, transport } = options;
  const asker = config.destinations[name]?.asker;
  if (asker === undefined) return transport;
  const { audience = "", claims, subject } = asker;
  return withAsker(
    { tokens, to: { audience, claims, subject }, header },
    { ...noCarrier, ...transport },
  );
}

const noCarrier = {
  url: undefined,
  cardUrl: new URL("http://nobody/"),
  bindings: [],
  cardTimeoutMs: 0,
  readCard: () => Promise.reject(new Error("no card is read")),
};

/** The budgets measure the product in this world, so a call that is not told costs nothing here. */
export function noteAsker({ world, to, request }: { world: World; to: string; request: Sent }) {
  if (world.story.isTold || request.asker !== undefined)
    world.sentCalls.push(toSentCall(to, request));
}

function toSentCall(to: string, { body, headers, asker }: Sent): SentCall {
  const { method, id, params } = JSON.parse(Buffer.from(body).toString()) as SentCall;
  const token = headers?.[header];
  const [, payload = ""] = token?.split(".") ?? [];
  const claims = token && JSON.parse(Buffer.from(payload, "base64url").toString());
  return {
    ...{ to, process: currentProcess(), method, id, params },
    claims: token === undefined ? undefined : askerClaimsSchema.parse(claims),
    hasAsker: asker !== undefined,
    digest: createHash("sha256").update(body).digest("hex"),
  };
}

/** For at least this long, a process uses the same token again for one person and destination. */
const reuseSeconds = reuseMs / 1000;

export function wrongAsker({ world, fates }: { world: World; fates: readonly Fate[] }) {
  const { story, sentCalls, signatures } = world;
  if (!story.isTold) {
    const isTold = sentCalls.some(({ claims, hasAsker }) => hasAsker || claims !== undefined);
    return isTold || signatures > 0 ? "somebody was told, or something was signed" : undefined;
  }
  for (const call of sentCalls) {
    const problem = wrongToken({ call, world, fates });
    if (problem !== undefined) return `${call.method} ${call.id} to ${call.to}: ${problem}`;
  }
  return repeatedToken(world);
}

function wrongToken(about: {
  call: SentCall;
  world: World;
  fates: readonly Fate[];
}): string | undefined {
  const { call, world, fates } = about;
  const { claims, params, method } = call;
  const isWord = method === "execute_task" || method === "answer_task";
  if (claims === undefined) return "there is no token";
  const writer = writerOf({ call, world, fates });
  const user = method === "answer_task" ? params.user_id : writer;
  if (user === undefined) return "nobody wrote it";
  if (claims.sub !== `slack:${workspace.team}:${user}` || claims.slack_user !== user)
    return `it is the word of ${user}, and the token is that of ${claims.sub}`;
  if (method === "answer_task" && !mayHaveAnswered({ user, writer, world }))
    return `${user} answered nothing`;
  if (claims.aud !== `https://${call.to}.example`) return `its audience is ${claims.aud}`;
  const wanted = isWord ? call.digest : undefined;
  return claims.body_sha256 === wanted ? undefined : "it is for another body";
}

/** The task's, which the call names by the id of either zone. */
function writerOf({
  call,
  world,
  fates,
}: {
  call: SentCall;
  world: World;
  fates: readonly Fate[];
}) {
  const { method, id, params } = call;
  const key = method === "execute_task" ? id : (params.request_id ?? params.task_id ?? "");
  const name = world.names.of(key);
  return fates.find(({ message }) => world.names.of(message.requestId) === name)?.message.user;
}

function mayHaveAnswered(about: {
  user: string;
  writer: string | undefined;
  world: World;
}): boolean {
  const { user, writer, world } = about;
  return user === writer || (world.story.isForAnyone === true && user === workspace.stranger);
}

/** With two versions, a process has a memory for each. */
function repeatedToken({ sentCalls, mix }: World): string | undefined {
  const wordIds = new Set<string>();
  const shared = new Map<string, AskerClaims>();
  for (const { process, claims } of sentCalls) {
    if (claims === undefined) continue;
    const { jti, sub, aud, iat } = claims;
    if (wordIds.has(jti)) return `the token ${jti} was used again`;
    if (claims.body_sha256 !== undefined) {
      wordIds.add(jti);
      continue;
    }
    const key = JSON.stringify([process?.name, sub, aud]);
    const latest = shared.get(key);
    const isNew = latest !== undefined && latest.jti !== jti;
    if (isNew && mix === undefined && iat - latest.iat < reuseSeconds)
      return `a process made two tokens of ${sub} for ${aud} in ${reuseSeconds} seconds`;
    shared.set(key, claims);
  }
  return undefined;
}
