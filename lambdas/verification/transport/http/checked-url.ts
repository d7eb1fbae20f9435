/** Where requests with credentials may go. */
import { isLoopbackHost } from "../../../../contracts/methods.ts";

/** Throws for a URL that is not https (http on loopback) or that holds credentials; the message repeats neither. */
export function checkedUrl(address: string): URL {
  const url = new URL(address);
  const isAllowed = url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname));
  if (!isAllowed) throw new Error(`The url must be https (http only on loopback), not ${url.protocol}//.`);
  if (url.username !== "" || url.password !== "") throw new Error("The url must not hold credentials.");
  return url;
}
