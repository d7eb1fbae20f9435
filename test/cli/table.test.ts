/** Tables on a terminal. */
import { expect, it } from "@jest/globals";
import { formatTable } from "@sekisho/sekisho/table.ts";

it("aligns texts to the left and numbers with their heading to the right, without trailing spaces", () => {
  expect(
    formatTable([
      ["name", "tasks", "note"],
      ["far", 5, "x"],
      ["a longer one", 12345, undefined],
    ]),
  ).toEqual(["name          tasks  note", "far               5  x", "a longer one  12345"]);
});
