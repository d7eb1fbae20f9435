/** Can a zone listen where it is to, or does it already? */
import { type Check, failed, ok } from "../check.ts";
import type { PortUse, Zone } from "../port-use.ts";

export function portFree({
  zone,
  port,
  variable,
  use,
}: {
  zone: Zone;
  port: number;
  /** By which another port is chosen. */
  variable: string;
  use: () => Promise<PortUse>;
}): Check {
  return {
    name: `port ${port}`,
    async run() {
      switch (await use()) {
        case "free":
          return ok(`It is free: no ${zone} zone runs here now.`);
        case "zone":
          return ok(`The ${zone} zone runs here.`);
        case "other":
          return failed(
            `Something that is no ${zone} zone listens there.`,
            `Stop it, or choose another port: ${variable}.`,
          );
        case "forbidden":
          return failed("It may not be listened at.", `Choose a port above 1023: ${variable}.`);
      }
    },
  };
}
