/** What is left of a JSON-RPC body that anybody may see. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { hideTexts } from "../../../lib/cli/trace/recorder-steps.ts";

describe("a frame", () => {
  it("keeps ids, kinds, numbers and its shape, and of texts their lengths", () => {
    const params = { channel: "C1", text: "What is it?", timeout_ms: 5, history: [{ role: "user", text: "Hi" }] };
    expect(hideTexts({ jsonrpc: "2.0", method: "execute_task", id: "a-1", params })).toEqual({
      jsonrpc: "2.0",
      method: "execute_task",
      id: "a-1",
      params: {
        channel: "C1",
        text: "(11 characters)",
        timeout_ms: 5,
        history: [{ role: "user", text: "(2 characters)" }],
      },
    });
  });

  it("masks what is a secret by its name, and a sentence in a member that is for an id", () => {
    expect(hideTexts({ bot_token: "xoxb-1", status: "I am done, and here is why" })).toEqual({
      bot_token: "(10 characters)",
      status: "(26 characters)",
    });
  });

  it("shows no text of a member that nobody thought of, at any depth", () => {
    const secret = "a-secret-text";
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" }), { minLength: 1, maxLength: 5 }), (path) => {
        const body = path.reduceRight<unknown>((inner, name) => ({ [`x${name}`]: inner, list: [secret] }), secret);
        expect(JSON.stringify(hideTexts(body))).not.toContain(secret);
      }),
    );
  });
});
