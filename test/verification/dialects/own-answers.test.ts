/** What our own host answers in each dialect, sent over a socket and read by our own client in that dialect. */
import { afterAll, describe, expect, it } from "@jest/globals";
import { dialectSchema, listReasons, toErrorCode, toHttpStatus } from "../../../contracts/dialects.ts";
import { createErrorResponse } from "../../../contracts/error-data.ts";
import { type Reason, reasons, SekishoError } from "../../../contracts/errors.ts";
import { isRepeatedInCall } from "../../../lambdas/verification/transport/wrappers.ts";
import { type Answer, startAnsweringPeer } from "../../doubles/dialects/answering-peer.ts";
import { createDialectClient, toldBy } from "./dialect-client.ts";

const toClose: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

const details = { task_id: "t-1", retry_after_ms: 1500, current: "working", target: "working" };

describe.each(dialectSchema.options)("an answer in %s", (dialect) => {
  async function askAll(answerTo: (reason: Reason) => Answer) {
    const peer = await startAnsweringPeer({ answers: reasons.map(answerTo) });
    toClose.push(peer.close);
    return Promise.all(
      reasons.map(async (reason, index) => {
        const client = createDialectClient({ url: `${peer.url}/${index}`, dialect });
        const outcome = await client.call({ method: "get_task", params: { task_id: "t-1" } });
        await client.close();
        return { reason, outcome, calls: peer.calls.get(`/${index}`) };
      }),
    );
  }

  it("says every reason with all that is known of it, and only what may be repeated is", async () => {
    const asked = await askAll((reason) => {
      const error = new SekishoError(reason, { details, cause: new Error("secret") });
      const { status, headers, body } = createErrorResponse({ error, id: "1", dialect });
      return { status, headers, response: body };
    });
    for (const { reason, outcome, calls } of asked) {
      expect(toldBy(outcome)).toEqual({ reason, exact: true, details, message: new SekishoError(reason).message });
      expect({ reason, calls }).toEqual({ reason, calls: isRepeatedInCall(reason) ? 3 : 1 });
    }
  });

  it("means, without data, a reason of its number that has its status, and is repeated only where that is certain", async () => {
    const asked = await askAll((reason) => {
      const error = { code: toErrorCode({ reason, dialect }), message: "secret" };
      return { status: toHttpStatus(reason), response: { jsonrpc: "2.0", id: "1", error } };
    });
    for (const { reason, outcome, calls } of asked) {
      const sharing = listReasons({ code: toErrorCode({ reason, dialect }), dialect });
      const [guess, ...others] = sharing.filter((other) => toHttpStatus(other) === toHttpStatus(reason));
      const told = toldBy(outcome);
      expect({ asked: reason, ...told }).toMatchObject({ asked: reason, reason: guess, exact: others.length === 0 });
      expect([guess, ...others]).toContain(reason);
      expect(JSON.stringify(told)).not.toContain("secret");
      expect({ reason, calls }).toEqual({ reason, calls: isRepeatedInCall(reason) && others.length === 0 ? 3 : 1 });
    }
  });
});
