/** Shows an operator the requests and responses of a transport, with secrets redacted. */
import { SekishoError } from "../../../contracts/errors.ts";
import { isTooDeep, parseJson } from "../../shared/untrusted-input.ts";
import type { Transport } from "./transport.ts";

/** `body` is the parsed JSON, `{ unreadable_bytes }` for a body that is not JSON, or `{ failed: reason }` if there was no response. */
export type TapEntry = {
  direction: "request" | "response";
  id: string;
  method: string;
  body: unknown;
  atMs: number;
};
export type Tap = (entry: TapEntry) => void;

/** Wraps the transport and passes each request and response to `tap`, which must not throw. */
export function tapTransport(options: { transport: Transport; tap: Tap; now?: () => number }): Transport {
  const { transport, tap, now = Date.now } = options;
  return {
    ...transport,
    async send(request) {
      const sent = parse(request.body);
      const { id, method } = readNames(sent);
      const show = (direction: TapEntry["direction"], body: unknown) =>
        tap({ direction, id, method, body: redact(body), atMs: now() });
      show("request", sent);
      try {
        const response = await transport.send(request);
        show("response", parse(response.body));
        return response;
      } catch (thrown) {
        show("response", { failed: SekishoError.from(thrown).reason });
        throw thrown;
      }
    },
  };
}

function parse(body: Uint8Array): unknown {
  const json = isTooDeep(body) ? undefined : parseJson(Buffer.from(body).toString());
  return json === undefined ? { unreadable_bytes: body.byteLength } : json;
}

function readNames(request: unknown): { id: string; method: string } {
  const { id, method } = Object(request) as { id?: unknown; method?: unknown };
  return { id: String(id), method: String(method) };
}

const mask = "[redacted]";
const secretName = /token|secret|password|authorization|api_?key|signature/i;
/** Matches Slack tokens anywhere in a text, because an agent may repeat one in its answer. */
const slackToken = /\bx(?:ox[a-z](?:\.xox[a-z])?|app)-[A-Za-z0-9-]+/g;

/** Masks Slack tokens and the credentials of HTTP's `authorization` in a text. */
export function maskTokens(text: string): string {
  return text.replaceAll(slackToken, mask).replaceAll(authorization, `$1 ${mask}`);
}

/** A token is no plain word, so that "the basic plan" stays. */
const authorization = /\b(bearer|basic)\s+(?=[^\s"\\]*[\d=._~+/-])[^\s"\\]+/gi;

/** Masks members with a secret's name, Slack tokens in any text, and the query of `url` members. */
export function redact(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll(slackToken, mask);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, redactMember({ name, member })]));
}

function redactMember({ name, member }: { name: string; member: unknown }): unknown {
  if (typeof member !== "string") return redact(member);
  if (secretName.test(name)) return mask;
  // An attachment's URL is signed: anyone who has it can read the file.
  if (name === "url") return member.replace(/[?#].*$/s, `?${mask}`);
  return redact(member);
}
