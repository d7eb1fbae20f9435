/** What becomes of data when its stack is deleted: kept in production, gone with the stack elsewhere. */
import { RemovalPolicy } from "aws-cdk-lib";

export function removalOf({ production }: { production: boolean }): RemovalPolicy {
  return production ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
}
