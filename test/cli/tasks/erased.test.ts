/** What is left of a task whose data was deleted. */
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { openTasksInFile, requestIdOf } from "../../local/console/tasks-in-file.ts";
import { commandHere } from "../aws/command-here.ts";

const tasks = openTasksInFile();
beforeAll(async () => {
  await tasks.add(1, { state: "done" });
  await tasks.erase(1);
});
afterAll(() => tasks.close());

it.each(["show", "retry", "cancel"])("is nothing to %s", async (verb) => {
  const ended = await commandHere(["tasks", verb, requestIdOf(1), "--store", tasks.file], {});
  expect(ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("was deleted.") });
  expect(await tasks.queued()).toEqual([]);
});
