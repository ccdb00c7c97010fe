// Runs ONNX models: node onnxruntime.js FOLDER JOBS
//
// FOLDER holds node_modules with onnxruntime-node. JOBS is a JSON file, a list of
// {model, inputs: [{name, type, dims, file}], output}; numbers are raw
// little-endian files. The output, float32, goes to the file of that name, and a
// line {"name", "dims"} or {"error"} to stdout for each job.
'use strict';
const fs = require('fs');
const path = require('path');
const [folder, jobs] = process.argv.slice(2);
const ort = require(path.join(path.resolve(folder), 'node_modules', 'onnxruntime-node'));

async function run(job) {
  const session = await ort.InferenceSession.create(job.model);
  const feeds = {};
  for (const input of job.inputs) {
    const raw = fs.readFileSync(input.file);
    const bytes = raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length);
    const data = input.type === 'uint8' ? new Uint8Array(bytes) : new Float32Array(bytes);
    feeds[input.name] = new ort.Tensor(input.type, data, input.dims);
  }
  const results = await session.run(feeds);
  const name = session.outputNames[0];
  const data = results[name].data;
  fs.writeFileSync(job.output, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  await session.release();
  return { name, dims: Array.from(results[name].dims) };
}

(async () => {
  for (const job of JSON.parse(fs.readFileSync(jobs, 'utf8'))) {
    let answer;
    try {
      answer = await run(job);
    } catch (e) {
      answer = { error: String(e.message || e) };
    }
    console.log(JSON.stringify(answer));
  }
})();
