#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Loaders under the frameworks of others, which have ideas of their own about length,
# epochs, ranks, workers and state.
# bats file_tags=libraries

load ../kit/lib
load ../kit/torch

setup_file()
{
	standard samples
	export ds=$set/ds
}

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	cat > net.py <<- 'END'
		import lightning
		import torch

		QUIET = dict(accelerator="cpu", logger=False, enable_checkpointing=False,
		             enable_progress_bar=False, enable_model_summary=False)


		def decode(content):
		    return torch.tensor([float(len(content))])


		class Net(lightning.LightningModule):
		    """Keeps which samples it was given, of each epoch by step, and
		    how many each validation had."""

		    def __init__(self):
		        super().__init__()
		        self.net = torch.nn.Linear(1, 1)
		        self.trained, self.validated = {}, {}

		    def training_step(self, batch, i):
		        self.trained.setdefault(self.current_epoch, []).append(
		            batch.numbers[batch.mask].tolist())
		        return self.net(batch.data).sum() * 0

		    def validation_step(self, batch, i):
		        of = self.validated.setdefault(self.global_step, [])
		        of.extend(batch.numbers[batch.mask].tolist())

		    def configure_optimizers(self):
		        return torch.optim.SGD(self.parameters(), 0.1)
	END
}

# framework PROGRAM..: without its advice.
framework()
{
	"$python" -W ignore "$@" 2> err || { cat err; return 1; }
}

@test "Lightning: len() before fit() is that of one rank, and forgotten" {
	cat > early.py <<- 'END'
		import sys

		import lightning

		import hpdsl
		from net import QUIET, Net, decode

		ds = hpdsl.Dataset(sys.argv[1])
		train = hpdsl.torch.Loader(ds, 16, decode=decode)
		val = hpdsl.torch.evaluate(ds, 16, decode=decode)
		before = len(train)
		net = Net()
		trainer = lightning.Trainer(devices=2, strategy="ddp", max_epochs=2,
		                            num_sanity_val_steps=0, **QUIET)
		trainer.fit(net, train, val)
		assert len(train) == -(-before // 2), (len(train), before)
		assert [len(net.trained[e]) for e in range(2)] == [len(train)] * 2
		assert len(net.validated) == 2, net.validated
		print(sum(map(len, net.trained[0])), "of", len(ds))
	END
	framework early.py "$ds" > out
	sort -u out | diff - <(echo "245 of 501"; echo "256 of 501")
}

@test "DataLoader: workers have the rank of their trainer, begun in any way" {
	cat > ranks.py <<- 'END'
		import os
		import sys

		import torch.distributed as dist
		import torch.multiprocessing as mp
		import torch.utils.data as tud

		import hpdsl


		class Set(tud.IterableDataset):
		    def __init__(self, path):
		        self.path = path

		    def __iter__(self):
		        w = tud.get_worker_info()
		        with hpdsl.Loader(self.path, 10, epochs=1, worker=w.id,
		                          workers=w.num_workers) as loader:
		            for batch in loader:
		                yield sum(batch.mask)


		def rank(r, path):
		    dist.init_process_group("gloo", rank=r, world_size=2,
		                            init_method=f"file://{os.getcwd()}/meet")
		    for context in "fork", "spawn", "forkserver":
		        got = sum(tud.DataLoader(Set(path), batch_size=None, num_workers=2,
		                                 multiprocessing_context=context))
		        print(context, got, flush=True)
		    dist.destroy_process_group()


		if __name__ == "__main__":
		    mp.spawn(rank, sys.argv[1:], nprocs=2)
	END
	framework ranks.py "$ds" > out
	awk '{ n[$1] += $2 } END { for (how in n) print how, n[how] }' out | sort |
		diff - <(printf '%s 501\n' fork forkserver spawn)
}

@test "StatefulDataLoader: each sample once, stopped and resumed" {
	cat > stateful.py <<- 'END'
		import collections
		import json
		import sys

		import torch.utils.data as tud
		from torchdata.stateful_dataloader import StatefulDataLoader

		import hpdsl


		class Set(tud.IterableDataset):
		    def __init__(self, path):
		        self.path, self.loader, self.state = path, None, None

		    def __iter__(self):
		        w = tud.get_worker_info()
		        self.loader = hpdsl.Loader(self.path, 10, epochs=1, worker=w.id,
		                                   workers=w.num_workers)
		        if self.state:
		            self.loader.load_state_dict(self.state)
		        for batch in self.loader:
		            yield [n for n, real in zip(batch.numbers, batch.mask) if real]

		    def state_dict(self):
		        return self.loader.state_dict() if self.loader else {}

		    def load_state_dict(self, state):
		        self.state = state


		path, n = sys.argv[1], len(hpdsl.Dataset(sys.argv[1]))
		for workers, stops in (1, (7,)), (2, (6, 13, 50)), (3, (1, 11, 40)):
		    for stop in stops:
		        one, two = (StatefulDataLoader(Set(path), batch_size=None,
		                                       num_workers=workers) for _ in "12")
		        seen, of = collections.Counter(), iter(one)
		        for _ in range(stop):
		            seen.update(next(of))
		        two.load_state_dict(one.state_dict())
		        for numbers in two:
		            seen.update(numbers)
		        assert seen == collections.Counter(range(n)), (workers, stop)
	END
	framework stateful.py "$ds"
}
