/** Every transition of a task, allowed or refused, for the contract and for A2A. */
import { a2aStateSchema } from "@sekisho/contracts/a2a/task.ts";
import { taskStateSchema } from "@sekisho/contracts/methods.ts";

/** From rows to columns. `auth` is `input_required` with the kind `auth`, which is a state of its own in A2A. */
const table = `
| from           | submitted | working | input_required | auth | completed | failed | canceled | rejected |
| submitted      | -         | may     | -              | -    | -         | may    | may      | may      |
| working        | -         | -       | may            | may  | may       | may    | may      | may      |
| input_required | -         | may     | -              | -    | may       | may    | may      | may      |
| auth           | -         | may     | -              | -    | may       | may    | may      | may      |
| completed      | -         | -       | -              | -    | -         | -      | -        | -        |
| failed         | -         | -       | -              | -    | -         | -      | -        | -        |
| canceled       | -         | -       | -              | -    | -         | -      | -        | -        |
| rejected       | -         | -       | -              | -    | -         | -      | -        | -        |
`;

/** The names in A2A. */
export const a2aNames: Readonly<Record<string, string>> = {
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  input_required: "TASK_STATE_INPUT_REQUIRED",
  auth: "TASK_STATE_AUTH_REQUIRED",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  canceled: "TASK_STATE_CANCELED",
  rejected: "TASK_STATE_REJECTED",
};

const [[, ...names] = [], ...rows] = table
  .trim()
  .split("\n")
  .map((line) => line.slice(1, -1).split("|"))
  .map((cells) => cells.map((cell) => cell.trim()));
export const transitions = rows.flatMap(([from = "", ...cells]) =>
  cells.map((cell, index) => ({ from, to: names[index] ?? "", may: cell === "may" })),
);
export const refusal = transitions.filter(({ may }) => !may);

/** `auth` and `input_required` are one state of the contract. */
export const stateNames: readonly string[] = names;

export function zoneState(name: string) {
  return taskStateSchema.parse(name === "auth" ? "input_required" : name);
}

export function a2aState(name: string) {
  return a2aStateSchema.parse(a2aNames[name]);
}
