import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { boundedFetch, toSlackError } from "../../../../lambdas/verification/slack/api/call.ts";

let server: Server | undefined;

afterEach(async () => {
  await new Promise<unknown>((resolve) => (server === undefined ? resolve(server) : server.close(resolve)));
  server = undefined;
});

/** What a POST to a server comes to that does with its connections as it likes. */
async function post({ scheme, onConnection }: { scheme: "http" | "https"; onConnection: (socket: Socket) => void }) {
  const listening = Promise.withResolvers<void>();
  server = createServer((socket) => onConnection(socket.on("error", () => {}))).listen(0, "127.0.0.1", () =>
    listening.resolve(),
  );
  await listening.promise;
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const request = boundedFetch({ signal: AbortSignal.timeout(10_000) });
  return request(`${scheme}://127.0.0.1:${port}/`, { method: "POST", body: "hello" }).then(
    () => undefined,
    (thrown: unknown) => toSlackError(thrown).kind,
  );
}

const plainHttp = (socket: Socket) => void socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
/** A fatal alert, handshake_failure (RFC 8446, section 6). */
const refuseTls = (socket: Socket) => void socket.once("data", () => socket.end(Buffer.from("15030300020228", "hex")));
const hangUp = (socket: Socket) => void socket.once("data", () => socket.destroy());

describe("a call whose connection fails", () => {
  it.each([
    ["the other side speaks no TLS", plainHttp],
    ["the other side refuses TLS", refuseTls],
    ["the other side hangs up in the handshake", hangUp],
  ])("was certainly not made where %s", async (_what, onConnection) => {
    expect(await post({ scheme: "https", onConnection })).toBe("unavailable");
  });

  it("may have been made where the other side hangs up on the request", async () => {
    expect(await post({ scheme: "http", onConnection: hangUp })).toBe("ambiguous");
  });

  it.each(["EPROTO", "ERR_SSL_WRONG_VERSION_NUMBER", "ECONNRESET"])(
    "may have been made where %s came in the middle of it",
    (code) => {
      const cause = Object.assign(new Error("on an open connection"), { code });
      expect(toSlackError(new TypeError("fetch failed", { cause })).kind).toBe("ambiguous");
    },
  );
});
