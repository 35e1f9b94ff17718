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
		        self.trained, self.validated, self.looks = {}, {}, []

		    def training_step(self, batch, i):
		        self.trained.setdefault(self.current_epoch, []).append(
		            batch.numbers[batch.mask].tolist())
		        return self.net(batch.data).sum() * 0

		    def validation_step(self, batch, i):
		        numbers = batch.numbers[batch.mask].tolist()
		        self.validated.setdefault(self.global_step, []).extend(numbers)
		        if i == 0:
		            self.looks.append([])
		        self.looks[-1].extend(numbers)

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

@test "Lightning: a DataLoader of one's own with our Sampler is dealt out once" {
	cat > plain.py <<- 'END'
		import sys

		import lightning
		from torch.utils.data import DataLoader

		import hpdsl
		from net import QUIET, Net, decode

		ds = hpdsl.Dataset(sys.argv[1])
		loader = DataLoader(hpdsl.torch.Samples(ds, decode=decode), batch_size=None,
		                    sampler=hpdsl.torch.Sampler(ds, 16, seed=1))
		net = Net()
		trainer = lightning.Trainer(devices=2, strategy="ddp", max_epochs=3, **QUIET)
		trainer.fit(net, loader)
		first = [net.trained[e][0] for e in range(3)]
		assert first[0] != first[1] != first[2], first
		print(sum(map(len, net.trained[0])), "of", len(ds))
	END
	framework plain.py "$ds" > out
	sort -u out | diff - <(echo "245 of 501"; echo "256 of 501")
}

# In Lightning's programs below: steps(loader, e), what its epoch e is.
steps_of()
{
	cat > steps.py <<- 'END'
		import dataclasses

		import hpdsl


		def steps(loader, epoch):
		    of = hpdsl.Epoch(loader.course.dataset, dataclasses.replace(
		        loader.order, epoch=epoch, step=0), loader.course.choice)
		    return [[p.sample for p in of.step(s) if p.real]
		            for s in range(len(loader))]
	END
}

@test "Lightning: each epoch is that epoch, from its beginning, and validated whole" {
	steps_of
	cat > epochs.py <<- 'END'
		import sys

		import lightning
		from lightning.pytorch.tuner import Tuner

		import hpdsl
		from net import QUIET, Net, decode
		from steps import steps

		ds = hpdsl.Dataset(sys.argv[1])


		def loaders(**given):
		    val = hpdsl.Choice(ds, split=(0.8, 1))
		    return (hpdsl.torch.Loader(ds, 50, seed=1, decode=decode, **given),
		            hpdsl.torch.Loader(ds, 30, choice=val, decode=decode, **given))


		def fitted(tune=False, epochs=4, given={}, **said):
		    net, (train, val) = Net(), loaders(**given)
		    net.lr = 0.1
		    trainer = lightning.Trainer(max_epochs=epochs, **said, **QUIET)
		    if tune:
		        Tuner(trainer).lr_find(net, train, val, num_training=4,
		                               update_attr=False)
		        net.trained, net.validated = {}, {}
		    trainer.fit(net, train, val)
		    return net, train, val


		# Limits, and the sanity check, which looks at two steps of val.
		net, train, val = fitted(limit_train_batches=4)
		assert net.trained == {e: steps(train, e)[:4] for e in range(4)}
		every = sorted(sum(steps(val, 0), []))
		net.validated.pop(0)
		assert list(map(sorted, net.validated.values())) == [every] * 4
		assert list(net.validated) == [4, 8, 12, 16]

		# Twice an epoch, a part of it.
		net, train, val = fitted(val_check_interval=0.5, limit_val_batches=2,
		                         num_sanity_val_steps=0, accumulate_grad_batches=3)
		assert net.trained == {e: steps(train, e) for e in range(4)}
		wanted = [sum(steps(val, e)[:2], []) for e in range(4) for _ in "12"]
		assert net.looks == wanted, net.looks

		# Behind a search for a learning rate.
		net, train, val = fitted(tune=True, num_sanity_val_steps=0)
		assert net.trained == {e: steps(train, e) for e in range(4)}
		assert len(net.looks[-4:]) == 4

		# The same few, which have to be in stored order.
		net, train, _ = fitted(overfit_batches=2, given=dict(shuffle=False))
		assert net.trained == {e: steps(train, 0)[:2] for e in range(4)}
		try:
		    fitted(overfit_batches=2)
		except ValueError as e:
		    assert "DataLoader" in str(e), e
		else:
		    raise AssertionError("was shuffled")
	END
	framework epochs.py "$ds"
}

@test "Lightning: resumed in mid-epoch, and from its default checkpoint" {
	steps_of
	cat > resumed.py <<- 'END'
		import sys
		import warnings

		import lightning
		from lightning.pytorch.callbacks import ModelCheckpoint

		import hpdsl
		from net import QUIET, Net, decode
		from steps import steps

		QUIET = {**QUIET, "enable_checkpointing": True}
		ds = hpdsl.Dataset(sys.argv[1])


		def fitted(path=None, reload=0, **said):
		    train = hpdsl.torch.Loader(ds, 50, seed=1, decode=decode)
		    val = hpdsl.torch.evaluate(ds, 50, decode=decode)
		    net, kept = Net(), ModelCheckpoint("kept", save_top_k=-1, **(
		        dict(every_n_train_steps=7) if path is None else {}))
		    net.train_dataloader = lambda: train
		    trainer = lightning.Trainer(
		        callbacks=[kept], reload_dataloaders_every_n_epochs=reload, **said,
		        **QUIET)
		    trainer.fit(net, val_dataloaders=val, ckpt_path=path)
		    return net, train, kept.best_model_path


		# 11 steps an epoch; stopped behind step 14, which is 3 of epoch 1.
		net, train, path = fitted(max_steps=14)
		order = [s for e in range(4) for s in steps(train, e)]
		got = sum(net.trained.values(), [])
		assert got == order[:14]
		net, _, end = fitted(path, max_epochs=2)
		got += sum(net.trained.values(), [])
		assert got == order[:22], (len(got), net.trained)
		# That is at an epoch's end.
		net, _, _ = fitted(end, max_epochs=4, reload=1)
		got += sum(net.trained.values(), [])
		assert got == order, len(got)

		# For Lightning max_steps ends an epoch: what it saves then begins the next one.
		trainer = lightning.Trainer(max_steps=14, **QUIET)
		trainer.fit(Net(), hpdsl.torch.Loader(ds, 50, seed=1, decode=decode))
		trainer.save_checkpoint("ended.ckpt")
		with warnings.catch_warnings(record=True) as caught:
		    warnings.simplefilter("always")
		    net, _, _ = fitted("ended.ckpt", max_steps=16)
		assert net.trained == {2: order[22:24]}, net.trained
		said = [str(w.message) for w in caught]
		assert any("step 3 of 11 of epoch 1" in text for text in said), said
	END
	framework resumed.py "$ds"
}

@test "Lightning: a batch of bytes is logged without a look at each of them" {
	cat > logged.py <<- 'END'
		import sys

		from lightning.pytorch.utilities.data import extract_batch_size

		import hpdsl

		batch = next(iter(hpdsl.torch.Loader(sys.argv[1], 50)))
		batch.data._views = None        # who looks at one fails
		assert extract_batch_size(batch) == 50
	END
	framework logged.py "$ds"
}

@test "Accelerate: accumulates to an epoch's end, gathers what counts, and resumes" {
	cat > accelerated.py <<- 'END'
		import os
		import sys

		import torch
		from accelerate import Accelerator, skip_first_batches
		from torch.utils.data import DataLoader

		import hpdsl

		ds = hpdsl.Dataset(sys.argv[1])


		def decode(content):
		    return torch.tensor([float(len(content))])


		def made(ranks):
		    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
		    train = hpdsl.torch.Loader(ds, 60 // ranks, seed=1, decode=decode)
		    val = hpdsl.torch.evaluate(ds, 60 // ranks, decode=decode)
		    net = torch.nn.Linear(1, 1)
		    net, train, val, optimizer = accelerator.prepare(
		        net, train, val, torch.optim.SGD(net.parameters(), 0.0))
		    return (accelerator, accelerator.prepare_data_loader(train),
		            accelerator.prepare_data_loader(val), net, optimizer)


		accelerator, train, val, net, optimizer = made(
		    int(os.environ.get("WORLD_SIZE", "1")))
		assert type(train) is hpdsl.torch.Loader
		for _ in range(2):
		    synced = []
		    for batch in train:
		        with accelerator.accumulate(net):
		            accelerator.backward(batch.mean(net(batch.data)[:, 0]))
		            optimizer.step()
		            optimizer.zero_grad()
		            synced.append(accelerator.sync_gradients)
		            if batch.step == 5:         # a validation within
		                got = [accelerator.gather_for_metrics(b.numbers)
		                       for b in val]
		                got = torch.cat(got).tolist()
		                assert sorted(got) == list(range(len(ds))), len(got)
		    assert [k for k, on in enumerate(synced) if on] == [3, 7, 8], synced
		place = train.epoch, 3
		train.seek(*place)
		next(iter(train))
		accelerator.save_state("saved")
		train.seek(0)
		accelerator.load_state("saved")
		assert (train.epoch, train.step) == (place[0], 4)
		# As its own pages resume, behind the place that was saved, or without.
		for epoch, skipped in (train.epoch, 4), (2, 0), (3, 8):
		    train.set_epoch(epoch)
		    got = [(b.epoch, b.step) for b in skip_first_batches(train, skipped)]
		    assert got == [(epoch, s) for s in range(skipped, 9)], got
		assert (train.epoch, train.step) == (4, 0)
		train.seek(0)
		list(accelerator.skip_first_batches(train, 8))
		assert train.stats()["steps"] <= 2, train.stats()
		plain = DataLoader(hpdsl.torch.Samples(ds, decode=decode), batch_size=None,
		                   sampler=hpdsl.torch.Sampler(ds, 10))
		try:
		    accelerator.prepare(plain)
		except hpdsl.UsageError as e:
		    assert "prepare() loses the Sampler" in str(e), e
		else:
		    raise AssertionError("lost")
		print(len(ds))
	END
	framework accelerated.py "$ds" > out
	framework -m torch.distributed.run --nproc-per-node=2 --standalone accelerated.py \
		"$ds" >> out
	[ "$(sort -u out)" = 501 ]
	[ "$(wc -l < out)" = 3 ]
}

@test "Trainer: our loader in place of its own, stopped in mid-epoch and resumed" {
	cat > trained.py <<- 'END'
		import os
		import sys

		import torch
		from transformers import Trainer, TrainerCallback, TrainingArguments

		import hpdsl

		ds = hpdsl.Dataset(sys.argv[1])
		ranks = int(os.environ.get("WORLD_SIZE", "1"))


		def decode(content):
		    return torch.tensor([float(len(content))])


		def as_dict(batch):
		    return {"x": batch.data, "numbers": batch.numbers[batch.mask]}


		class Net(torch.nn.Module):
		    def __init__(self):
		        super().__init__()
		        self.net, self.seen = torch.nn.Linear(1, 1), []

		    def forward(self, x, numbers):
		        self.seen.append(numbers.tolist())
		        return {"loss": self.net(x).sum() * 0}


		class Ours(Trainer):
		    def get_train_dataloader(self):
		        self.ours = hpdsl.torch.Loader(
		            ds, 50 // ranks, seed=1, decode=decode, form=as_dict,
		            num_workers=1)
		        return self.ours


		class Stop(TrainerCallback):
		    """At a step: as far as a job came."""

		    def __init__(self, step):
		        self.step = step

		    def on_step_end(self, args, state, control, **_):
		        if state.global_step == self.step:
		            control.should_save = control.should_training_stop = True


		def trained(stop, resume=None, **said):
		    net = Net()
		    args = TrainingArguments(
		        "kept", num_train_epochs=3, use_cpu=True, report_to=[],
		        save_strategy="no", disable_tqdm=True, **said)
		    trainer = Ours(net, args, train_dataset=ds, callbacks=[Stop(stop)])
		    trainer.train(resume_from_checkpoint=resume)
		    return trainer.ours, net.seen


		# 11 steps an epoch.
		for accumulated in 1, 2:
		    said = dict(gradient_accumulation_steps=accumulated)
		    first, second = (7, 14) if accumulated == 1 else (4, 8)
		    _, got = trained(first, **said)
		    _, more = trained(second, f"kept/checkpoint-{first}", **said)
		    loader, last = trained(99, f"kept/checkpoint-{second}", **said)
		    got = got + more + last
		    wanted = []
		    for epoch in range(3):
		        of = loader.course.epoch_of(epoch)
		        rank = loader.course.ranks.rank
		        wanted += [[p.sample for p in of.step(s, rank=rank, ranks=ranks)
		                    if p.real] for s in range(11)]
		    assert got == wanted, [a == b for a, b in zip(got, wanted)]
		print("same")
	END
	export HF_HUB_OFFLINE=1 HF_HOME=$PWD/hf
	framework trained.py "$ds" > out
	framework -m torch.distributed.run --nproc-per-node=2 --standalone trained.py \
		"$ds" >> out
	[ "$(grep -c '^same$' out)" = 3 ]
}

@test "Trainer: evaluates each sample once, and on one rank the loss is their mean" {
	cat > evaluated.py <<- 'END'
		import os
		import sys

		import torch
		from transformers import Trainer, TrainingArguments

		import hpdsl

		ds = hpdsl.Dataset(sys.argv[1])
		ranks = int(os.environ.get("WORLD_SIZE", "1"))


		class Net(torch.nn.Module):
		    def __init__(self):
		        super().__init__()
		        self.net = torch.nn.Linear(1, 1)

		    def forward(self, labels):
		        return {"loss": labels.float().mean(), "logits": labels}


		class Ours(Trainer):
		    def get_eval_dataloader(self, of=None):
		        return hpdsl.torch.evaluate(
		            ds, self.args.per_device_eval_batch_size,
		            form=lambda batch: {"labels": batch.numbers})


		def metrics(of):
		    return {"all": sorted(of.predictions.tolist()) == list(range(len(ds)))}


		got = Ours(Net(), TrainingArguments(
		    "kept", use_cpu=True, report_to=[], disable_tqdm=True,
		    per_device_eval_batch_size=48 // ranks), eval_dataset=ds,
		    compute_metrics=metrics).evaluate()
		assert got["eval_all"], got
		assert ranks > 1 or abs(got["eval_loss"] - (len(ds) - 1) / 2) < 0.01, got
		print("all")
	END
	export HF_HUB_OFFLINE=1 HF_HOME=$PWD/hf
	framework evaluated.py "$ds" > out
	framework -m torch.distributed.run --nproc-per-node=3 --standalone evaluated.py \
		"$ds" >> out
	[ "$(grep -c '^all$' out)" = 4 ]
}

@test "Accelerate, datasets: samples that they deal out come once" {
	cat > dealt.py <<- 'END'
		import collections
		import json
		import sys

		import datasets
		import torch
		from accelerate import Accelerator
		from accelerate.utils import DataLoaderConfiguration
		from datasets.distributed import split_dataset_by_node
		from torch.utils.data import DataLoader

		import hpdsl


		def number(content):
		    of = json.loads(bytes(content))
		    return torch.tensor(of["class"] * 1000 + of["n"])


		ds = hpdsl.Dataset(sys.argv[1])
		every = {int(number(sample.data)) for sample in ds}
		assert len(every) == len(ds)
		for dispatch in True, False:
		    of = hpdsl.torch.Iterable(ds, share="caller", decode=number)
		    accelerator = Accelerator(cpu=True, dataloader_config=
		        DataLoaderConfiguration(dispatch_batches=dispatch))
		    loader = accelerator.prepare(DataLoader(
		        of, 10, num_workers=1 if dispatch else 2))
		    seen = collections.Counter()
		    for numbers, labels in loader:
		        seen.update(accelerator.gather(numbers).tolist())
		    # Those of a last batch are filled up.
		    assert set(seen) == every, (dispatch, len(seen))
		    assert sum(seen.values()) <= len(ds) + 4 * 10, sum(seen.values())
		    accelerator.wait_for_everyone()
		try:
		    next(iter(hpdsl.torch.Iterable(ds, decode=number)))
		except hpdsl.UsageError as e:
		    assert "share=" in str(e), e
		else:
		    raise AssertionError("nobody said who deals them out")


		def generated(path):
		    from hpdsl.torch import Iterable
		    for of, label in Iterable(path, share="none", decode=number):
		        yield {"number": int(of), "label": label}


		made = datasets.IterableDataset.from_generator(
		    generated, gen_kwargs={"path": sys.argv[1]})
		for parts in [made], [split_dataset_by_node(made, r, 2) for r in range(2)]:
		    got = [row["number"] for part in parts
		           for row in DataLoader(part, None, num_workers=2)]
		    assert sorted(got) == sorted(every), (len(parts), len(got))
		print(len(every))
	END
	HF_HUB_OFFLINE=1 HF_HOME=$PWD/hf framework -m torch.distributed.run \
		--nproc-per-node=2 --standalone dealt.py "$ds" > out
	[ "$(sort -u out)" = 501 ]
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

@test "Keras: what BackupAndRestore begins again is the epoch that the loader is told" {
	cat > restored.py <<- 'END'
		import sys

		import tensorflow as tf

		import hpdsl

		ds = hpdsl.Dataset(sys.argv[1])
		first = []


		class Net(tf.keras.Model):
		    def __init__(self):
		        super().__init__()
		        self.net = tf.keras.layers.Dense(1)

		    def call(self, x):
		        return self.net(x)

		    def train_step(self, data):
		        tf.py_function(lambda place: first.append(place.numpy().tolist()),
		                       [data[0]], [])
		        return {"loss": 0.0}


		class Dies(tf.keras.callbacks.Callback):
		    def on_epoch_end(self, epoch, logs=None):
		        if epoch == 0:
		            raise KeyboardInterrupt


		for more in [Dies()], []:
		    loader = hpdsl.Loader(ds, 100, seed=1)
		    data = hpdsl.feed.tf(loader).map(
		        lambda contents, labels, mask, place: (place, place))
		    net = Net()
		    net(tf.zeros([1, 1]))
		    net.compile("sgd")
		    backup = tf.keras.callbacks.BackupAndRestore("kept")
		    at = tf.keras.callbacks.LambdaCallback(
		        on_epoch_begin=lambda epoch, logs: loader.seek(epoch))
		    try:
		        net.fit(data, epochs=3, verbose=0, callbacks=[backup, at, *more])
		    except KeyboardInterrupt:
		        pass
		assert first == [[e, s] for e in range(3) for s in range(6)], first
	END
	TF_CPP_MIN_LOG_LEVEL=3 framework restored.py "$ds"
}

@test "tf.data, DALI: resumed behind what was trained on, and not what was fetched" {
	cat > feeds.py <<- 'END'
		import sys

		from nvidia.dali import fn, pipeline_def

		import hpdsl

		ds = hpdsl.Dataset(sys.argv[1])


		def by_tf(loader):
		    data = hpdsl.feed.tf(loader, prefetch=4)
		    for contents, _, mask, place in data:
		        yield [c for c, real in zip(contents.numpy(), mask.numpy())
		               if real], place.numpy()


		def by_dali(loader):
		    @pipeline_def(batch_size=20, num_threads=1, device_id=None,
		                  prefetch_queue_depth=3)
		    def pipe():
		        return tuple(fn.external_source(
		            hpdsl.feed.Dali(loader, place=True), num_outputs=4,
		            batch=True, cycle="raise"))

		    running = pipe()
		    running.build()
		    while True:
		        try:
		            contents, _, mask, place = running.run()
		        except StopIteration:
		            return
		        yield [bytes(contents.at(k)) for k, real in
		               enumerate(mask.as_array()) if real], place.as_array()[0]


		for by in by_tf, by_dali:
		    def made():
		        return hpdsl.Loader(ds, 20, seed=1, epochs=1)

		    seen, loader = [], made()
		    for k, (contents, place) in enumerate(by(loader)):
		        seen += contents
		        if k == 6:
		            break
		    state = loader.state_dict(place)
		    assert state["step"] == 7, state
		    again = made()
		    again.load_state_dict(state)
		    for contents, _ in by(again):
		        seen += contents
		    wanted = [ds[n].data for n in hpdsl.Epoch(ds, again.order)]
		    assert seen == wanted, (by, len(seen))
	END
	framework feeds.py "$ds"
}
