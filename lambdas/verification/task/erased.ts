/** Whether of a task only that its message was taken is kept, since the data of whoever asked was deleted. Pure. */
import type { Task } from "./task.ts";

/** Every other task has somebody who asked. */
export function isErased({ principal }: Pick<Task, "principal">): boolean {
  return principal === "";
}
