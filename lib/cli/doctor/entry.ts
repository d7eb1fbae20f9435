/** The checks that ask over HTTP: the entry for Slack's events, and the clocks of the servers that answer. */
import { randomUUID } from "node:crypto";
import { toAddress } from "@sekisho/config/destination-address.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { formatSecretName } from "@sekisho/config/secrets.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { signHeaders } from "@sekisho/local/signed-events.ts";
import { readResponseBody } from "@sekisho/runtime/http/read-body.ts";
import { findExpectedShape } from "../aws/secret-shape.ts";
import { type Finding, failure, ok, skip, warning } from "./check.ts";
import { requireSecret } from "./slack.ts";
import type { ClockSource, Subject } from "./targets.ts";

export async function checkEntry({ entry, signal }: Pick<Subject, "entry" | "signal">) {
  const { url, name, start, setSecret, readLog, mayLackSecret } = await entry();
  const status = (await askEntry({ url, signal }))?.status;
  if (status === undefined) return failure(`Nothing answers at ${url}.`, start);
  if (status === 401) return ok(`${name} refuses an unsigned request.`);
  if (status === 200) {
    const remedy = "Take it off the network, because it is not an entry of Sekisho.";
    return failure(`${url} accepts an unsigned request.`, remedy);
  }
  if (status !== 500)
    return failure(`${url} answers HTTP ${status}, and not 401, to an unsigned request.`, readLog);
  return mayLackSecret
    ? ok(`${name} accepts nothing over HTTP, as with Socket Mode.`)
    : failure(`${name} has no signing secret (HTTP 500).`, setSecret);
}

const whereSecretIs = 'It is under "Basic Information", "App Credentials" of the app.';

type SigningCheck = Pick<Subject, "config" | "readSecret" | "entry" | "signal"> & {
  now?: () => number;
};

export async function checkSigningSecret(check: SigningCheck): Promise<Finding> {
  const { config, readSecret, entry, signal, now = Date.now } = check;
  const reference = config.slack.signingSecret;
  const signingSecret = await requireSecret(reference, readSecret);
  const expectedShape = findExpectedShape({ use: "signing secret", value: signingSecret });
  if (expectedShape !== undefined) {
    const what = `${formatSecretName(reference)} is not ${expectedShape}, as Slack's are.`;
    return warning(what, `Is it the app's own? ${whereSecretIs}`);
  }
  const { url, name, setSecret, readLog } = await entry();
  const challenge = randomUUID();
  const ask = (ageMs: number) =>
    askEntry({ url, challenge, signingSecret, signal, now: () => now() - ageMs });
  // The second is twice as old as an entry may accept.
  const [signedAnswer, stale] = await Promise.all([ask(0), ask(600_000)]);
  const request = `a request that is signed with ${formatSecretName(reference)}`;
  if (signedAnswer?.status === 401) {
    const remedy = `${setSecret} ${whereSecretIs} If it is the right one, check this machine's clock.`;
    return failure(`${name} does not accept ${request}.`, remedy);
  }
  // The check of the entry explains in more detail why nothing answers.
  if (signedAnswer?.status !== 200)
    return failure(
      `${name} answers ${signedAnswer ? `HTTP ${signedAnswer.status}` : "nothing"} to ${request}.`,
    );
  if (signedAnswer.body !== challenge)
    return failure(`The server at ${url} does not understand Slack's events.`, readLog);
  if (stale?.status !== 401) {
    const what = `${name} accepts a request that was signed ten minutes ago (HTTP ${stale?.status}).`;
    return failure(what, `${readLog} Check its clock.`);
  }
  return ok(`${name} accepts ${request}, unless it is old.`);
}

const warnMs = 60_000;
/** Slack's signatures and AWS's are refused when they are older. */
const failMs = 300_000;

/** Without a remedy, the clock to set is this machine's. */
export async function checkClock({ clocks }: Pick<Subject, "clocks">): Promise<Finding> {
  const all = await Promise.all(
    clocks.map(async (clock) => ({
      ...clock,
      skewMs: await clock.skewMs().catch(() => undefined),
    })),
  );
  const skews = all
    .flatMap(({ skewMs, ...clock }) => (skewMs === undefined ? [] : [{ ...clock, skewMs }]))
    .toSorted((a, b) => Math.abs(b.skewMs) - Math.abs(a.skewMs));
  const [worst] = skews;
  if (worst === undefined) return skip("No server answered with its time.");
  const { who, skewMs } = worst;
  const offMs = Math.abs(skewMs);
  const seconds = Math.round(offMs / 1000);
  if (offMs <= warnMs) {
    const names = skews.map((skew) => skew.who).join(", ");
    return ok(`At most ${seconds} s from ${who} (compared with ${names}).`);
  }
  const trustedSkew = skews.find(({ isTrusted }) => isTrusted);
  const remedy =
    trustedSkew !== undefined && Math.abs(trustedSkew.skewMs) <= warnMs
      ? `Set the clock of ${who}: the other clocks agree with this machine's.`
      : undefined;
  const what = `It is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} ${who}. Signatures are valid for ${failMs / 1000} s.`;
  return offMs >= failMs ? failure(what, remedy) : warning(what, remedy);
}

/** Leaves out destinations on this machine, which have the same clock. A refused request still shows the server's time. */
export function destinationClocks({ destinations }: Config, signal: AbortSignal): ClockSource[] {
  return Object.entries(destinations).flatMap(([name, destination]) => {
    const url = URL.parse(toAddress(destination) ?? "");
    if (url === null || !/^https?:$/.test(url.protocol) || isLoopbackHost(url.hostname)) return [];
    const skewMs = () => measureSkew({ url: url.origin, signal });
    return [{ who: `destination ${name}`, isTrusted: false, skewMs }];
  });
}

const timeoutMs = 10_000;
const maxAnswerBytes = 1024 * 1024;

type Request = RequestInit & { url: string; signal: AbortSignal; now?: () => number };

/** Resolves to undefined where nothing answers. Follows no redirect, because a redirect could carry a token elsewhere. */
async function request({ url, signal, now = Date.now, ...init }: Request) {
  const sentAtMs = now();
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(url, { ...init, redirect: "manual", signal: limit });
    const { status, headers } = response;
    const skewMs = readSkewMs(headers.get("date"), { sentAtMs, receivedAtMs: now() });
    const bytes = await readResponseBody({ response, maxBytes: maxAnswerBytes });
    if (bytes === "too_large") return undefined;
    return { status, body: new TextDecoder().decode(bytes), skewMs };
  } catch {
    return undefined;
  }
}

/**
 * Returns how far this machine's clock is ahead of a server's, by the `Date` header of its answer (RFC 9110, section
 * 6.6.1). Negative means behind.
 */
export function readSkewMs(
  date: string | null,
  { sentAtMs, receivedAtMs }: { sentAtMs: number; receivedAtMs: number },
): number | undefined {
  const serverMs = Date.parse(date ?? "");
  if (Number.isNaN(serverMs)) return undefined;
  // The server cut the date off to a whole second, at some time between sending and receiving.
  return Math.round((sentAtMs + receivedAtMs) / 2 - (serverMs + 500));
}

export async function measureSkew({ url, signal }: { url: string; signal: AbortSignal }) {
  return (await request({ url, signal, method: "HEAD" }))?.skewMs;
}

type EntryRequest = {
  url: string;
  challenge?: string;
  signingSecret?: string;
  signal: AbortSignal;
  now?: () => number;
};

/**
 * Sends the entry a request that makes no task: the entry itself answers url_verification with the challenge
 * (https://docs.slack.dev/reference/events/url_verification). Signed as Slack signs it where a secret is given.
 */
export function askEntry({
  challenge = "none",
  signingSecret,
  now = Date.now,
  ...target
}: EntryRequest) {
  const body = JSON.stringify({ type: "url_verification", challenge });
  const contentType = "application/json";
  const headers =
    signingSecret === undefined
      ? { "content-type": contentType }
      : signHeaders({ signingSecret, body, contentType, now });
  return request({ ...target, method: "POST", headers, body });
}
