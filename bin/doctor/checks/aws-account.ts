/** Are the credentials at hand of the account that the stage names? */
import { type Check, ok } from "../check.ts";

/** `own` rejects with what to do where they are of another account. */
export function awsAccount({
  own,
  caller,
}: {
  own: () => Promise<void>;
  caller: () => Promise<{ arn: string }>;
}): Check {
  return {
    name: "credentials",
    async run() {
      await own();
      const { arn } = await caller();
      return ok(`${arn}, of the stage's Verification account.`);
    },
  };
}
