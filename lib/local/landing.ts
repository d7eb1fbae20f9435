/** Answers a browser at the address of a zone, and tells another program which zone holds a port. */
import { get, type IncomingMessage, type ServerResponse } from "node:http";

/** The zone and the command that runs it. */
export type ZoneName =
  | "Verification zone of sekisho start"
  | "Execution zone of sekisho start"
  | "Verification zone of sekisho verification"
  | "Execution zone of sekisho execution";

/** `text` is a sentence without markup. */
type LandingText = { zone: ZoneName; text: string; link: { href: string; text: string } };

const zoneHeader = "x-sekisho-zone";
const zonePattern = /^(Verification|Execution) zone of sekisho (start|verification|execution)$/;
/** A program that answers later is not ours. */
const askTimeoutMs = 1000;

/** True if a person opened the address of the zone itself in a browser. Programs ask for other types. */
export function isVisit({ method, url, headers }: IncomingMessage): boolean {
  return method === "GET" && url === "/" && (headers.accept ?? "").includes("text/html");
}

/** Answers a visit and returns true, or does nothing and returns false. `describe` is called for each visit, when all ports are known. */
export function createLanding(
  describe: () => LandingText,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    if (!isVisit(request)) return false;
    const { zone, text, link } = describe();
    const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${zone}</title>
<main><h1>${zone}</h1>
<p>${text} <a href="${link.href}">${link.text}</a></p></main>
</html>
`;
    response.writeHead(200, {
      "content-type": "text/html; charset=utf-8",
      "content-length": Buffer.byteLength(body),
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
      vary: "accept",
      [zoneHeader]: zone,
    });
    response.end(body);
    return true;
  };
}

/** Resolves as `listening` does. If the port is in use by a zone of ours, the error names the command that runs it. */
export async function namePortHolder<T>(
  listening: Promise<T>,
  { port, portSetting }: { port: number; portSetting: string },
): Promise<T> {
  try {
    return await listening;
  } catch (error) {
    if (Object(Object(error).cause).code !== "EADDRINUSE") throw error;
    const zone = await askZone(port);
    if (zone === undefined) throw error;
    const remedy = `Stop that command with Ctrl-C in its terminal, or choose another port (${portSetting}).`;
    throw new Error(`Port ${port} is already in use by the ${zone}. ${remedy}`, { cause: error });
  }
}

/** Undefined if the program on the port is not ours, or says nothing in time. */
async function askZone(port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const request = get({
    ...{ host: "127.0.0.1", port, path: "/", agent: false },
    headers: { accept: "text/html" },
    signal: AbortSignal.timeout(askTimeoutMs),
  });
  request.on("response", ({ headers }) => resolve(headers[zoneHeader]?.toString()));
  request.on("error", () => resolve(undefined));
  const name = await promise;
  request.destroy();
  return name !== undefined && zonePattern.test(name) ? name : undefined;
}
