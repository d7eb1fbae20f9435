import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "@jest/globals";
import { createWebRequest } from "@sekisho/runtime/http/web-request.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

describe("the request of a web handler", () => {
  it("aborts its signal after the request was collected as garbage", async () => {
    const caller = new AbortController();
    const { signal } = createWebRequest("http://localhost/", { signal: caller.signal });
    for (let count = 0; count < 5; count++) {
      collectGarbage();
      await nextTurn();
    }
    caller.abort("The caller has hung up.");
    expect([signal.aborted, signal.reason]).toEqual([true, "The caller has hung up."]);
  });

  it("has the method, the fields and the body that it was created with", async () => {
    const { signal } = new AbortController();
    const headers = { "content-type": "text/plain" };
    const init = { method: "POST", headers, body: "hello", signal };
    const request = createWebRequest(new URL("http://localhost/path"), init);
    expect([request.method, request.url]).toEqual(["POST", "http://localhost/path"]);
    expect(request.headers.get("content-type")).toBe("text/plain");
    expect(await request.text()).toBe("hello");
  });
});
