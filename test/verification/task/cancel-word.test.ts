import { describe, expect, it, jest } from "@jest/globals";
import { isCancelWord } from "../../../lambdas/verification/task/unsent.ts";

describe("the word to cancel", () => {
  it.each([
    "cancel",
    "Cancel",
    "CANCEL!",
    " cancel. ",
    "キャンセル",
    "中止。",
    "取り消し",
    "取消",
    "ｃａｎｃｅｌ",
    "*cancel*",
    "`cancel`",
    "cancel…",
  ])("is %j", (text) => {
    expect(isCancelWord(text)).toBe(true);
  });

  it("is found among blanks, and not in a long text, which is not normalized", () => {
    const normalize = jest.spyOn(String.prototype, "normalize");
    expect(isCancelWord(`${" ".repeat(100)}cancel\n`)).toBe(true);
    const calls = normalize.mock.calls.length;
    expect(isCancelWord(`cancel${"\u0301".repeat(20_000)}${"\u0323".repeat(20_000)}`)).toBe(false);
    expect(isCancelWord(`cancel${"*".repeat(100)}`)).toBe(false);
    expect([calls, normalize.mock.calls.length]).toEqual([1, 1]);
    normalize.mockRestore();
  });

  it.each(["", "cancel the deployment", "please cancel", "cancel?", "cancelled", "キャンセルして"])(
    "is not %j",
    (text) => {
      expect(isCancelWord(text)).toBe(false);
    },
  );
});
