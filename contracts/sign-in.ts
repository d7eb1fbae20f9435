/** The address at which a person signs in for an agent: a question of kind `auth` may have one. It is a credential, so no error repeats it. */
import * as z from "zod";
import { isSecureUrl } from "./loopback.ts";

/** Slack's limit for the address of a button, in characters. */
const maxUrlLength = 3000;

/** Letters, digits and hyphens, so that no host can be formatted as something else. Names of other scripts are in punycode. */
const host = "(?:[A-Za-z0-9-]{1,63}(?:\\.[A-Za-z0-9-]{1,63})*\\.?|\\[[0-9A-Fa-f:.]+\\])";
const loopbackHost = "(?:localhost|127\\.\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}|\\[::1\\])";
/** The characters of RFC 3986, so that every reader finds the same host: no blank, control character, backslash or other script. */
const rest = "(?::\\d{1,5})?(?:[/?#][A-Za-z0-9._~:/?#[\\]@!$&'()*+,;=%-]*)?";
const pattern = new RegExp(`^(?:https://${host}|http://${loopbackHost})${rest}$`);

export const signInUrlProblem =
  "must be https (http only on loopback), in ASCII, without a user name, and have at most 3,000 characters";

export const signInUrlSchema = z
  .string()
  .regex(pattern, signInUrlProblem)
  .refine((text) => normalizeSignInUrl(text) !== undefined, signInUrlProblem)
  .meta({ maxLength: maxUrlLength });

/** The longest name of a host (RFC 1035). The end of a longer one, which says whose it is, could be cut where people read it. */
const maxHostLength = 253;

/** Writes the address as a browser reads it. Undefined if it is too long, or no address after all. */
export function normalizeSignInUrl(text: string): string | undefined {
  if (text.length > maxUrlLength) return undefined;
  const url = URL.parse(text);
  if (url === null || !isSecureUrl(url) || url.hostname.length > maxHostLength) return undefined;
  return url.href.length <= maxUrlLength ? url.href : undefined;
}

/** The `text` of the `answer_task` by which a person says that they have signed in. */
export const signedInText = "Signed in.";
