/** Tables on a terminal. */
import { expect, it } from "@jest/globals";
import { formatTable } from "@sekisho/sekisho/table.ts";

it("aligns texts to the left, numbers and their head to the right, and leaves no space at the end", () => {
  expect(
    formatTable([
      ["name", "tasks", "note"],
      ["far", 5, "x"],
      ["a longer one", 12345, undefined],
    ]),
  ).toEqual(["name          tasks  note", "far               5  x", "a longer one  12345"]);
});
