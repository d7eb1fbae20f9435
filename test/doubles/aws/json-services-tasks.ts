/** DynamoDB's GetItem of a task's record, strictly as the command line asks for it. */
import { json, jsonError } from "./json-services-wire.ts";

/** By request id: the task's state. */
export type TaskStates = Map<string, string>;

export function getTaskItem({
  tasks,
  action,
  input,
}: {
  tasks: TaskStates;
  action: string;
  input: Record<string, unknown>;
}): Response {
  const { TableName, Key, ConsistentRead } = input as { TableName: string; Key: unknown; ConsistentRead?: boolean };
  const [, id] = /^\{"id":\{"S":"([^"]+)"\}\}$/.exec(JSON.stringify(Key)) ?? [];
  if (action !== "GetItem" || TableName !== "tasks" || id === undefined || ConsistentRead !== true) {
    return jsonError({ status: 400, name: "ValidationException", message: action });
  }
  const state = tasks.get(id);
  return json(state === undefined ? {} : { Item: { id: { S: id }, state: { S: state } } });
}
