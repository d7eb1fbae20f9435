/** Where the page finds what it shows. The parts are functions, so that the local run, a stage and a test each bring theirs. */
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { TaskPlace } from "../../cli/tasks/stored-task.ts";
import type { Picture } from "../../cli/trace/picture.ts";
import type { DeadLetters } from "./dead-letters/dead-letters.ts";
import type { HealthBoard } from "./health.ts";

/** `note`: what is not in the picture, and why. */
export type CreatePicture = (request: {
  task: Task;
}) => Promise<{ picture: Picture | undefined; note?: string | undefined }>;

export type ConsoleSource = {
  /** In the page's head: "this machine", "stage prod". */
  name: string;
  place: TaskPlace;
  pictureOf: CreatePicture;
  health: HealthBoard;
  letters: DeadLetters;
  close(): Promise<void>;
};
