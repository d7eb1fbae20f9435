/** What a person is told where there is no such stage: which there are, or what to add. */
import type { Config } from "../../lambdas/shared/config/schema.ts";

export function unknownStageText({
  config: { stages },
  stageName,
}: {
  config: Pick<Config, "stages">;
  stageName: string;
}): string {
  const known = Object.keys(stages).join(", ");
  if (known !== "") return `there is no stage "${stageName}"; the configuration has: ${known}`;
  return `the configuration has none. Add, with your own ids:\n    "stages": { "${stageName}": { "verification": { "account": "111111111111", "region": "eu-central-1" } } }`;
}
