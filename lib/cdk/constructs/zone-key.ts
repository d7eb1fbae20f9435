/** The customer-managed key of one zone: its table, its queues, its topic. */
import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { Key } from "aws-cdk-lib/aws-kms";
import type { Construct } from "constructs";

/** The longest and the shortest window that AWS allows between the deletion and the end. */
const keptWindow = Duration.days(30);
const shortestWindow = Duration.days(7);

export function createZoneKey(scope: Construct, id: string, { production }: { production: boolean }): Key {
  return new Key(scope, id, {
    enableKeyRotation: true,
    pendingWindow: production ? keptWindow : shortestWindow,
    removalPolicy: removalPolicy({ production }),
  });
}

// What becomes of data when its stack is deleted: kept in production, gone with the stack elsewhere.

export function removalPolicy({ production }: { production: boolean }): RemovalPolicy {
  return production ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
}
