import { describe, expect, it } from "@jest/globals";
import { isCancelWord } from "../../../lambdas/verification/gate/cancel-word.ts";

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

  it.each(["", "cancel the deployment", "please cancel", "cancel?", "cancelled", "キャンセルして"])(
    "is not %j",
    (text) => {
      expect(isCancelWord(text)).toBe(false);
    },
  );
});
