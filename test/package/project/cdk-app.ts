import { addStage, loadStage } from "@sekisho/sekisho/cdk";
import { App } from "aws-cdk-lib";

const app = new App({ outdir: "cdk.out" });
addStage(app, loadStage({ stage: app.node.tryGetContext("stage") }));
app.synth();
