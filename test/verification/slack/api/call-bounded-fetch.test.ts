import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { boundedFetch } from "../../../../lambdas/verification/slack/api/call.ts";

let server: Server;
let url: string;

beforeEach(async () => {
  server = createServer((request, response) => {
    if (request.url === "/stalls") return void response.write("begun");
    // No length is announced, so only reading tells how much there is.
    response.write("x".repeat(600));
    response.end("x".repeat(600));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const signal = new AbortController().signal;

describe("the fetch of the Slack client", () => {
  it("reads a body up to the bound", async () => {
    const response = await boundedFetch({ signal, maxBytes: 1200 })(`${url}/`);
    expect((await response.text()).length).toBe(1200);
  });

  it("reads no body beyond it", async () => {
    await expect(boundedFetch({ signal, maxBytes: 1199 })(`${url}/`)).rejects.toThrow(/larger/);
  });

  it("ends with its signal while the body stalls", async () => {
    const bounded = boundedFetch({ signal: AbortSignal.timeout(100) });
    await expect(bounded(`${url}/stalls`)).rejects.toThrow();
  });
});
