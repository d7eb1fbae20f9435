# The Execution zone as an image: one file and Node, nothing else; no shell, no package manager, no root.
#
#   docker build --build-arg CONFIG=sekisho.config.json -t sekisho-execution .
#
# What is built in: the agent and the `execution` section of CONFIG. `sekisho execution bundle --help` lists the variables.

FROM node:24-trixie-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
ARG CONFIG=sekisho.config.json
RUN node bin/sekisho.mjs execution bundle --config "$CONFIG" --out /out && mkdir /data

FROM gcr.io/distroless/nodejs24-debian13:nonroot
COPY --from=build /out/server.cjs /app/server.cjs
# The store is made in the working directory: mount a volume there to keep it.
COPY --from=build --chown=65532:65532 /data /data
WORKDIR /data
# The image's user "nonroot", as a number, which is what Kubernetes can check.
USER 65532:65532
ENV NODE_ENV=production
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["/nodejs/bin/node", "/app/server.cjs", "--healthcheck"]
# The image's entrypoint is node itself, so that SIGTERM reaches it.
CMD ["/app/server.cjs"]
