/** The hash by which CDK knows the asset of a bundle. */
import { FileSystem } from "aws-cdk-lib";

/**
 * CDK's own hash of a folder does not include the modes of its files, and CDK uploads no asset twice. This hash differs from it, so that no
 * zip is used again whose files only their owner can read, as earlier versions wrote them under a strict umask.
 */
export function bundleAsset(folder: string): { assetHash: string } {
  return { assetHash: FileSystem.fingerprint(folder, { extraHash: "files 0644" }) };
}
