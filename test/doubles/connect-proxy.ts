/**
 * An HTTP proxy on loopback that only knows CONNECT. It resolves names of its own, wants a user and a password, and refuses everything else,
 * as a company's proxy does.
 */
import { createServer } from "node:http";
import { connect } from "node:net";
import { listen } from "./serving.ts";

const user = "kim";
const password = "p@ss/word";
const expectedResult = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

/** `hosts` has the ports on loopback by authority, such as `slack.test:443`. `established` is the status of a tunnel. */
export async function startConnectProxy(
  hosts: Record<string, number>,
  { established = "200 Connection established" }: { established?: string } = {},
) {
  /** The authority of each CONNECT, refused ones included. */
  const connects: string[] = [];
  const refusals: string[] = [];
  const server = createServer((request, response) => {
    refusals.push(`${request.method} ${request.url}`);
    response.writeHead(405).end();
  });
  server.on("connect", (request, socket, head) => {
    const authority = request.url ?? "";
    connects.push(authority);
    socket.on("error", () => {});
    const refuse = (status: string) => {
      refusals.push(`CONNECT ${authority}`);
      socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`);
    };
    if (request.headers.host !== authority) return refuse("400 Bad Request");
    if (request.headers["proxy-authorization"] !== expectedResult)
      return refuse("407 Proxy Authentication Required");
    const port = hosts[authority];
    if (port === undefined) return refuse("403 Forbidden");
    const peer = connect(port, "127.0.0.1", () => {
      socket.write(`HTTP/1.1 ${established}\r\n\r\n`);
      peer.write(head);
      peer.pipe(socket).pipe(peer);
    });
    peer.on("error", () => socket.destroy());
    socket.on("close", () => peer.destroy());
  });
  const port = await listen(server);
  return {
    url: `http://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}`,
    /** Without user and password. */
    origin: `http://127.0.0.1:${port}`,
    password,
    connects,
    refusals,
  };
}
