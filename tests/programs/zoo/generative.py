"""Generative models: their losses balance several terms or players."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.zoo.registry import batches, images, training


def ring(rows: int) -> Tensor:
    """Return points ``[rows, 2]`` near a circle of radius 1."""
    angle = torch.rand(rows, 1) * 2 * math.pi
    return torch.cat([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(rows, 2)


@training
def vae(steps: int) -> list[float]:
    """A reconstruction and a KL term, a sample by the reparametrisation trick."""

    class VAE(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(64, 32), nn.Tanh())
            self.to_mean, self.to_logvar = nn.Linear(32, 4), nn.Linear(32, 4)
            self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            h = self.encoder(x)
            mean, logvar = self.to_mean(h), self.to_logvar(h)
            std = torch.exp(0.5 * logvar)
            return self.decoder(mean + std * torch.randn_like(std)), mean, logvar

    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    x, _ = images(256, 1, 8, 4)
    losses: list[float] = []
    for step, (batch,) in enumerate(batches(steps, 32, (2 * x.flatten(1)).sigmoid())):
        out, mean, logvar = model(batch)
        reconstruction = F.binary_cross_entropy_with_logits(out, batch, reduction="sum")
        kl = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())
        beta = min(1.0, step / 100)
        loss = (reconstruction + beta * kl) / len(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def gan(steps: int) -> list[float]:
    """Two optimisers in turn; the judge's layers are spectrally normalised."""
    spectral = nn.utils.parametrizations.spectral_norm
    generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    judge = nn.Sequential(spectral(nn.Linear(2, 32)), nn.LeakyReLU(0.2), spectral(nn.Linear(32, 1)))
    for_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    for_d = torch.optim.Adam(judge.parameters(), lr=2e-3, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
    losses: list[float] = []
    for _ in range(steps):
        real, fake = ring(32), generator(torch.randn(32, 4))
        for_d.zero_grad()
        d_loss = criterion(judge(real), ones) + criterion(judge(fake.detach()), zeros)
        d_loss.backward()
        for_d.step()

        for_g.zero_grad()
        g_loss = criterion(judge(fake), ones)
        g_loss.backward()
        for_g.step()
        losses += [d_loss.item(), g_loss.item()]
    return losses


@training
def dcgan(steps: int) -> list[float]:
    """Transposed convolutions, batch norm, a tanh image; the judge is frozen in the G step."""
    generator = nn.Sequential(
        nn.ConvTranspose2d(8, 8, 4), nn.BatchNorm2d(8), nn.ReLU(True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    judge = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.Dropout2d(0.2),
        nn.Conv2d(8, 1, 4), nn.Flatten(),
    )  # fmt: skip
    for_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    for_d = torch.optim.Adam(judge.parameters(), lr=1e-3, betas=(0.5, 0.999))
    pictures, _ = images(128, 1, 8, 3)
    losses: list[float] = []
    for (real,) in batches(steps, 8, pictures.tanh()):
        judge.requires_grad_(True)
        with torch.no_grad():
            fake = generator(torch.randn(8, 8, 1, 1))
        d_loss = F.softplus(-judge(real)).mean() + F.softplus(judge(fake)).mean()
        for_d.zero_grad()
        d_loss.backward()
        for_d.step()

        judge.requires_grad_(False)
        g_loss = F.softplus(-judge(generator(torch.randn(8, 8, 1, 1)))).mean()
        for_g.zero_grad()
        g_loss.backward()
        for_g.step()
        losses += [d_loss.item(), g_loss.item()]
    return losses


@training
def wgan_gp(steps: int) -> list[float]:
    """A gradient penalty, differentiated twice; five critic steps for one of the generator."""
    generator = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
    critic = nn.Sequential(nn.Linear(2, 24), nn.Softplus(), nn.Linear(24, 1))
    for_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    for_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
    losses: list[float] = []
    for step in range(steps):
        real, fake = ring(16), generator(torch.randn(16, 4)).detach()
        t = torch.rand(16, 1)
        between = (t * real + (1 - t) * fake).requires_grad_(True)
        score = critic(between)
        (slope,) = torch.autograd.grad(
            score, between, torch.ones_like(score), create_graph=True, retain_graph=True
        )
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        for_c.zero_grad()
        loss.backward()
        for_c.step()
        losses.append(loss.item())
        if step % 5 == 4:
            for_g.zero_grad()
            (-critic(generator(torch.randn(16, 4))).mean()).backward()
            for_g.step()
    return losses


@training
def diffusion(steps: int) -> list[float]:
    """Noise is predicted at a random time; an average of the weights is kept for sampling."""
    net = nn.Sequential(nn.Linear(3, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 2))
    average = torch.optim.swa_utils.AveragedModel(
        net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99)
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    kept = torch.cumprod(1 - torch.linspace(1e-3, 0.2, 20), 0)
    losses: list[float] = []
    for _ in range(steps):
        x, noise, t = ring(64), torch.randn(64, 2), torch.randint(20, (64,))
        share = kept[t][:, None]
        noisy = share.sqrt() * x + (1 - share).sqrt() * noise
        guess = net(torch.cat([noisy, t[:, None] / 20], 1))
        loss = F.mse_loss(guess, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update_parameters(net)
        losses.append(loss.item())
    return losses


@training
def normalising_flow(steps: int) -> list[float]:
    """Coupling layers trained by exact likelihood: the loss may go below zero."""
    nets = nn.ModuleList(
        nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2)) for _ in range(4)
    )
    prior = torch.distributions.Normal(0.0, 1.0)
    optimizer = torch.optim.Adam(nets.parameters(), lr=3e-3)
    losses: list[float] = []
    for _ in range(steps):
        x = ring(64)
        logdet = torch.zeros(64)
        for i, net in enumerate(nets):
            keep, change = x[:, i % 2], x[:, 1 - i % 2]
            scale, shift = net(keep[:, None]).unbind(1)
            scale = torch.tanh(scale)
            change = change * scale.exp() + shift
            x = torch.stack([keep, change] if i % 2 == 0 else [change, keep], 1)
            logdet = logdet + scale
        loss = -(prior.log_prob(x).sum(1) + logdet).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def vector_quantised(steps: int) -> list[float]:
    """A codebook with a straight-through estimate and a commitment loss; few codes are used."""
    encoder, decoder = (
        nn.Linear(16, 4),
        nn.Sequential(nn.Linear(4, 32), nn.GELU(), nn.Linear(32, 16)),
    )
    codes = nn.Embedding(32, 4)
    nn.init.uniform_(codes.weight, -1, 1)
    net = nn.ModuleList([encoder, decoder, codes])
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    x, _ = images(128, 1, 4, 4)
    losses: list[float] = []
    for (batch,) in batches(steps, 32, x.flatten(1)):
        z = encoder(batch)
        nearest = torch.cdist(z.detach(), codes.weight.detach()).argmin(1)
        q = codes(nearest)
        commitment = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        out = decoder(z + (q - z).detach())
        loss = F.mse_loss(out, batch) + commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
