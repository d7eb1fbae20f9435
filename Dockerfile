# The Execution zone as an image: three files and Node, nothing else; no shell, no package manager, no root.
#
#   docker build --build-arg CONFIG=sekisho.config.json -t sekisho-execution .
#
# What is built in: the agent and the `execution` section of CONFIG. `sekisho execution bundle --help` lists the variables that
# the container reads, and docs/release.md says more of the image.

# Renovate writes the digest of each tag behind it and raises both (renovate.json). Until its first run they are tags alone: give a
# digest by --build-arg where a build must be repeatable.
ARG NODE_IMAGE=node:24.21.0-trixie-slim
ARG RUNTIME_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot

# On the builder's own processor: what comes out is JavaScript, for all of them.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
ARG CONFIG=sekisho.config.json
ARG CREATED=""
RUN node bin/sekisho.mjs execution bundle --config "$CONFIG" --out /out
RUN node lib/cli/release/sbom.ts --bundle container --config "$CONFIG" --at "$CREATED" --out /out/sbom.cdx.json
RUN mkdir /data

FROM ${RUNTIME_IMAGE}
ARG VERSION=""
ARG REVISION=""
ARG CREATED=""
LABEL org.opencontainers.image.title="sekisho-execution" \
      org.opencontainers.image.description="The Execution zone of Sekisho: runs an agent for tasks that come from Slack" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
COPY --from=build /out/server.cjs /out/agent.cjs /out/config.json /out/sbom.cdx.json /app/
# The store is made in the working directory, the only place that is written to: mount a volume there to keep it.
COPY --from=build --chown=65532:65532 /data /data
VOLUME ["/data"]
WORKDIR /data
# The image's user "nonroot", as a number, which is what Kubernetes can check.
USER 65532:65532
ENV NODE_ENV=production
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["/nodejs/bin/node", "/app/server.cjs", "--healthcheck"]
# The image's entrypoint is node itself, so that SIGTERM reaches it.
CMD ["/app/server.cjs"]
