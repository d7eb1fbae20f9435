/** Serves the attachments of the cases on loopback, and counts how often each is fetched. */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type FileServer = {
  /** Makes an attachment for `execute_task`. Each has an address and a content of its own. */
  create(key: string): Record<string, unknown> & { id: string };
  /** How often the file was read. */
  count(key: string): number;
  /** The addresses and headers of all reads. They should hold no credentials. */
  reads(): readonly string[];
  close(): Promise<void>;
};

const contentOf = (key: string) =>
  Buffer.from(`The content of a file of the conformance run: ${key}\n`);

export async function startFileServer(): Promise<FileServer> {
  const counts = new Map<string, number>();
  const reads: string[] = [];
  const server = createServer((request, response) => {
    reads.push([request.url, ...request.rawHeaders].join("\n"));
    const key = request.url?.slice(1).replace(/\?.*$/s, "") ?? "";
    const isKnown = counts.has(key);
    const content = contentOf(key);
    if (isKnown && request.method === "GET") counts.set(key, (counts.get(key) ?? 0) + 1);
    response.writeHead(isKnown ? 200 : 404, {
      "content-type": "text/plain",
      "content-length": isKnown ? content.length : 0,
    });
    response.end(isKnown && request.method !== "HEAD" ? content : undefined);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    create(key) {
      counts.set(key, 0);
      const content = contentOf(key);
      return {
        id: key,
        name: "関所.txt",
        mimetype: "text/plain",
        size: content.length,
        url: `http://127.0.0.1:${port}/${key}`,
        sha256: createHash("sha256").update(content).digest("hex"),
      };
    },
    count: (key) => counts.get(key) ?? 0,
    reads: () => reads,
    async close() {
      const closing = Promise.withResolvers<void>();
      server.close(() => closing.resolve());
      server.closeAllConnections();
      await closing.promise;
    },
  };
}
