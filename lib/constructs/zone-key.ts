/** The customer-managed key of one zone: its table, its queues, its topic. */
import { Duration } from "aws-cdk-lib";
import { Key } from "aws-cdk-lib/aws-kms";
import type { Construct } from "constructs";
import { removalOf } from "./removal.ts";

/** The longest and the shortest window that AWS allows between the deletion and the end. */
const keptWindow = Duration.days(30);
const shortestWindow = Duration.days(7);

export function createZoneKey(scope: Construct, id: string, { production }: { production: boolean }): Key {
  return new Key(scope, id, {
    enableKeyRotation: true,
    pendingWindow: production ? keptWindow : shortestWindow,
    removalPolicy: removalOf({ production }),
  });
}
