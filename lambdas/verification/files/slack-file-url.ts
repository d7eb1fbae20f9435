/** Which addresses are Slack's own for files: no other is ever shown a bot token. Pure. */
import { isLoopbackHost } from "../../../contracts/methods.ts";

const domains = ["slack.com", "slack-gov.com"];
/** Where Slack shows a file, and not a page to sign in. */
const filesPath = "/files-pri/";

/**
 * Slack names `files.slack.com`, or `slack.com/files-pri/` (https://docs.slack.dev/reference/objects/file-object), and in an
 * organization it sends on to `files-origin.slack.com`. `apiUrl` is the configured one of the Web API: on loopback, where a
 * stand-in is, files have its origin.
 */
export function isSlackFileUrl({ url, apiUrl }: { url: URL; apiUrl: string }): boolean {
  if (url.username !== "" || url.password !== "") return false;
  const api = new URL(apiUrl);
  if (isLoopbackHost(api.hostname)) return url.origin === api.origin;
  if (url.protocol !== "https:" || url.port !== "") return false;
  const { hostname, pathname } = url;
  if (hostname === "slack-files.com" || hostname.endsWith(".slack-files.com")) return true;
  return domains.some(
    (domain) =>
      hostname === `files.${domain}` ||
      hostname === `files-origin.${domain}` ||
      (hostname === domain && pathname.startsWith(filesPath)),
  );
}
