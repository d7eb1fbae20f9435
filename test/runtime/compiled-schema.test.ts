/** A schema that is used often checks as before. */
import { expect, it, jest } from "@jest/globals";
import { compileWhenBusy } from "@sekisho/runtime/compiled-schema.ts";
import * as z from "zod";

const values = [{ a: 1 }, { a: 1, b: "x", c: true }, { a: "1" }, {}, null, "text"];
const createSchema = () => z.object({ a: z.int(), b: z.string().optional() });

it("returns the same values and issues before and after it compiles", () => {
  const schema = createSchema();
  const compiledSchema = compileWhenBusy(createSchema());
  for (let use = 0; use < 120; use += 1) {
    const value = values[use % values.length];
    const expectedResult = schema.safeParse(value);
    const result = compiledSchema.safeParse(value);
    expect({ data: result.data, issues: result.error?.issues }).toEqual({
      data: expectedResult.data,
      issues: expectedResult.error?.issues,
    });
  }
});

it("compiles the schema at the hundredth use", () => {
  const schema = createSchema();
  const plainChecks = jest.spyOn(schema, "safeParse");
  const compiledSchema = compileWhenBusy(schema);
  for (let use = 1; use <= 120; use += 1) compiledSchema.safeParse({ a: use });
  expect(plainChecks).toHaveBeenCalledTimes(99);
});
