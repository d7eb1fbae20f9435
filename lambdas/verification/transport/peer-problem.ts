/** Explains a bad response or agent card of a peer: one sentence for an operator, and whether the peer refused the request. */
import type { IncomingHttpHeaders } from "node:http";
import { errorObjectSchema } from "@sekisho/contracts/envelope.ts";
import { hasRepeatedKey } from "@sekisho/runtime/repeated-keys.ts";
import {
  isJsonObject,
  parseUrl,
  sanitizeLine,
  truncate,
} from "@sekisho/runtime/untrusted-input.ts";
import {
  adviceFor,
  type ForeignProtocol,
  recognizeResponse,
  unknownProtocolAdvice,
} from "./foreign-protocol.ts";

/** `message` says what to do too. It shows nothing of the peer but names, versions, statuses and addresses. `name` is shown in the log. */
export class PeerProblem extends Error {
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined;
  /** The peer refused the request, so that certainly nothing ran. */
  readonly isRefusal: boolean;

  constructor(
    name: string,
    message: string,
    { status, isRefusal = false }: { status?: number | undefined; isRefusal?: boolean } = {},
  ) {
    super(message);
    this.name = name;
    this.status = status;
    this.isRefusal = isRefusal;
  }
}

/** These redirects ask for the same request elsewhere. Others may come after the work is done (RFC 9110, section 15.4). */
const refusingRedirects: readonly number[] = [301, 307, 308];
/** No such address, another method, another type, another host or protocol, unreadable content: decided before anything runs. */
const refusals: readonly number[] = [404, 405, 406, 410, 411, 414, 415, 421, 422, 426, 431];

type Redirect = {
  status: number;
  location: string | undefined;
  /** The request. An address that repeats one of its credentials is not shown. */
  sentRequest: { url: URL; headers: Readonly<Record<string, string>> } | undefined;
};

export function createRedirectProblem({ status, location, sentRequest }: Redirect): PeerProblem {
  const target = location === undefined ? undefined : describeTarget(location, sentRequest);
  const where = target === undefined ? "elsewhere" : `to ${target}`;
  const message = `It redirects ${where} (HTTP ${status}), and redirects are not followed. Set the url to the final address.`;
  return new PeerProblem("ResponseRedirects", message, {
    status,
    isRefusal: refusingRedirects.includes(status),
  });
}

const maxTargetLength = 300;
/** Shorter words of headers are no credentials. */
const minSecretLength = 8;

/** Leaves out the query and user names, which may hold credentials. */
function describeTarget(
  location: string,
  sentRequest: Redirect["sentRequest"],
): string | undefined {
  const url = parseUrl(location, sentRequest?.url.href);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const words = Object.values(sentRequest?.headers ?? {}).flatMap((value) =>
    value.split(/[\s,;=]+/),
  );
  const secrets = words
    .filter((word) => word.length >= minSecretLength)
    .map((word) => word.toLowerCase());
  const target =
    url.origin === sentRequest?.url.origin ? url.pathname : `${url.origin}${url.pathname}`;
  const searchText = `${target} ${decode(target)}`.toLowerCase();
  return secrets.some((secret) => searchText.includes(secret))
    ? undefined
    : truncate(sanitizeLine(target), maxTargetLength);
}

function decode(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}

type UnreadableHead = { status: number; headers: IncomingHttpHeaders };

/** For an endpoint of JSON-RPC that does not know the method that begins a task. */
export function createMethodProblem(): PeerProblem {
  return new PeerProblem(
    "ResponseKnowsNoTasks",
    `It knows no execute_task. If it is an A2A agent: ${adviceFor("a2a").remedy}`,
  );
}

/** For a type or an encoding that is not read. A page of a failed status is described by that status. */
export function createTypeProblem({ status, headers }: UnreadableHead): PeerProblem {
  const { "content-encoding": encoding = "identity", "content-type": type = "" } = headers;
  const isPage = /html/i.test(type);
  const what = isPage ? "a web page" : encoding === "identity" ? "not JSON in UTF-8" : "compressed";
  const message = `Its response is ${what} (HTTP ${status}). Check the address and its path${isPage ? ", and whether a login page is in front of it" : ""}.`;
  return new PeerProblem(isPage ? "ResponseIsHtml" : "ResponseIsNotJson", message, { status });
}

/** For a response that is no JSON-RPC. If it is of another protocol, says of which; `fallback` is what it is otherwise. */
export function createResponseProblem(
  response: { status?: number | undefined; body: Uint8Array },
  fallback?: ForeignProtocol,
): PeerProblem {
  const { status, body } = response;
  const note = status === undefined ? "" : ` (HTTP ${status})`;
  const isRefusal = refusals.includes(status ?? 0);
  const protocol = recognizeResponse(response) ?? fallback;
  if (protocol !== undefined) {
    const { name, what, remedy } = adviceFor(protocol);
    return new PeerProblem(name, `It ${what}${note}. ${remedy}`, { status, isRefusal });
  }
  if (status === undefined || status < 400) {
    const message = `Its response cannot be read${note}: ${describeBody(body)}. Check the url, and the peer's log.`;
    return new PeerProblem("ResponseIsNotJsonRpc", message, { status });
  }
  const message = `${describeStatus(status)}${note}. Check the url. ${unknownProtocolAdvice}`;
  return new PeerProblem("ResponseStatus", message, { status, isRefusal });
}

function describeStatus(status: number): string {
  if (status === 404 || status === 410) return "Nothing accepts calls at this path";
  if (status === 405) return "Nothing accepts POST requests at this path";
  if (status === 406 || status === 415) return "It does not accept JSON at this path";
  return "It refuses the request, and not in JSON-RPC";
}

/** Keeps a byte order mark. */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function describeBody(body: Uint8Array): string {
  if (body.length === 0) return "it is empty";
  let text: string;
  try {
    text = strictUtf8.decode(body);
  } catch {
    return "it is not in UTF-8";
  }
  if (text.startsWith("\ufeff")) return "it begins with a byte order mark";
  if (/^\s*</.test(text)) return "it is a web page";
  try {
    const value: unknown = JSON.parse(text);
    if (hasRepeatedKey({ json: text, value })) return "it has two members of one name";
    return describeEnvelope(value);
  } catch (error) {
    return findNotANumber(text) ?? (isCutOff(error) ? "its JSON is cut off" : "it is not JSON");
  }
}

/** Python and JavaScript write these for numbers that JSON does not have. Strings are skipped as a whole. */
const jsonTokens = /"(?:[^"\\]|\\.|\\$)*(?:"|$)|-?\b(?:NaN|Infinity)\b/gs;
const maxNameLength = 60;

function findNotANumber(text: string): string | undefined {
  let name = "";
  for (const { 0: token, index } of text.matchAll(jsonTokens)) {
    const end = index + token.length;
    if (token.startsWith('"')) {
      if (/^\s*:/.test(text.slice(end, end + maxNameLength))) name = token.slice(1, -1);
      continue;
    }
    const isPlain = name.length <= maxNameLength && /^[\w.$-]+$/.test(name);
    return `${isPlain ? `the member "${name}"` : "a member"} is ${token}, which JSON does not have`;
  }
  return undefined;
}

/** Only the message tells it from other mistakes. */
function isCutOff(error: unknown): boolean {
  return error instanceof Error && /end of JSON|Unterminated/.test(error.message);
}

/** Names the member of a JSON-RPC response that is wrong. */
function describeEnvelope(value: unknown): string {
  if (!isJsonObject(value)) return Array.isArray(value) ? "it is a list" : "it is not an object";
  const { jsonrpc, id, error } = value;
  if (jsonrpc !== "2.0") return 'its member "jsonrpc" is not "2.0"';
  const isSent = (member: unknown) => member !== undefined && member !== null;
  if (isSent(error)) {
    const path = errorObjectSchema.safeParse(error).error?.issues[0]?.path ?? [];
    if (path.length > 0 || !isJsonObject(error))
      return `its member "${["error", ...path].join(".")}" is malformed`;
    if (isSent(value.result)) return 'it has both "result" and "error"';
  } else if (value.result === undefined) return 'it has neither "result" nor "error"';
  return typeof id === "string" || typeof id === "number"
    ? "it is malformed"
    : 'its member "id" is not that of the request';
}

type Issue = { path: readonly PropertyKey[]; message: string };

/** For a result that breaks the contract, or A2A. The issues must be those of our own schemas, whose messages show no values. */
export function createMemberProblem(issues: readonly Issue[]): PeerProblem {
  const [{ path, message } = { path: [], message: "" }] = issues;
  const why = message.replace(/^Invalid input(: )?/, "");
  const member = ["result", ...path].map(String).reduce(addToPath);
  return new PeerProblem(
    "ResponseMember",
    `Its result cannot be read: ${member}${why === "" ? " is wrong" : ` (${why})`}. Ask its maker to mend it.`,
  );
}

/** A name that the peer chose is not shown if it is more than a word. */
function addToPath(path: string, step: string): string {
  if (/^\d+$/.test(step)) return `${path}[${step}]`;
  return `${path}.${/^[\w$-]{1,60}$/.test(step) ? step : "…"}`;
}
