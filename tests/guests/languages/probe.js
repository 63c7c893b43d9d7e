// Says what it finds in a sandbox that was granted nothing.
import { log } from 'workhost:handler/log@0.1.0';

export const handler = {
  describe() {
    const payloadSchema = JSON.stringify({ type: 'object', required: ['message'] });
    return [{ kind: 'probe-javascript', summary: 'Says what it finds.', payloadSchema }];
  },
  run(item) {
    const { message } = JSON.parse(item.payload);
    log('info', 'probing', [['attempt', String(item.attempt)]]);
    return { tag: 'done', val: JSON.stringify({ message, globals: ['process', 'require', 'fetch'].filter((name) => name in globalThis) }) };
  },
};
