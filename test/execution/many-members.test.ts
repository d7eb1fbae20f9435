/** Requests and updates with many thousand members: the host visits only those that it knows. */
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { updateSchema } from "@sekisho/execution/runs/update-schema.ts";
import { type CountedValue, countVisits } from "../doubles/count-visits.ts";
import { createTestHost, post } from "./test-host.ts";

const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`m${index}`, 1]));
const maxVisits = 1000;
/** The names of one object are listed natively to find the first ones: by the compiled schema, and by the plain one, which says what is wrong. */
const maxNames = 10_010;

afterEach(() => {
  jest.restoreAllMocks();
});

describe("a request with many members", () => {
  const file = {
    id: "F1",
    name: "a.txt",
    mimetype: "text/plain",
    size: 1,
    url: "https://files.example/a",
  };

  it.each<[string, string, object, number]>([
    ["params", "execute_task", { text: "hello", ...many }, maxVisits],
    [
      "an attachment",
      "execute_task",
      { text: "hello", attachments: [{ ...file, ...many }] },
      maxVisits,
    ],
    [
      "a message of the history",
      "execute_task",
      { text: "a", history: [{ role: "user", text: "b", ...many }] },
      maxVisits,
    ],
    ["fields", "answer_task", { task_id: "t", fields: many }, 2 * maxNames + maxVisits],
    [
      "values of no field",
      "answer_task",
      { task_id: "t", fields: { ...many, m0: true } },
      2 * maxNames + maxVisits,
    ],
    ["choices", "answer_task", { task_id: "t", fields: { a: Object.values(many) } }, maxVisits],
  ])(
    "visits only a few of the many members of a request: %s",
    async (_place, method, params, limit) => {
      const { host } = createTestHost();
      const countedValues: CountedValue[] = [];
      const parse = JSON.parse;
      jest.spyOn(JSON, "parse").mockImplementation((text) => {
        const countedValue = countVisits(parse(text));
        countedValues.push(countedValue);
        return countedValue.value;
      });
      const response = await host.handle(
        post(JSON.stringify({ jsonrpc: "2.0", id: "1", method, params })),
      );
      expect(response.status).toBe(200);
      expect(countedValues.length).toBeGreaterThan(0);
      expect(countedValues.reduce((sum, { visits }) => sum + visits(), 0)).toBeLessThan(limit);
    },
  );
});

describe("an agent's update with many members", () => {
  const step = { id: "s", title: "Look", status: "pending" };
  const steps = Array.from({ length: 10_000 }, () => step);

  it.each<[string, object, number]>([
    ["progress", { type: "progress", text: "Soon.", ...many }, maxVisits],
    ["a step", { type: "progress", steps: [{ ...step, ...many }] }, maxVisits],
    ["steps", { type: "progress", steps }, 10 * maxVisits],
    ["an artifact", { type: "artifact", artifact: { text: "a", ...many } }, maxNames + maxVisits],
    ["the data of an artifact", { type: "artifact", artifact: { data: many } }, maxVisits],
    ["the usage", { type: "answer", text: "a", usage: many }, maxNames + maxVisits],
  ])("visits only a few of the many members of an agent's update: %s", (_place, update, limit) => {
    const countedUpdate = countVisits(update);
    expect(updateSchema.safeParse(countedUpdate.value).success).toBe(true);
    expect(countedUpdate.visits()).toBeLessThan(limit);
  });
});
